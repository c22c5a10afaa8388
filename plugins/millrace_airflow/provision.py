"""Makes what a pipeline needs before its job starts; what is there already is left as it is."""

from __future__ import annotations

import logging

from millrace.core.errors import TransientError
from millrace.core.layout import Layout
from millrace.core.provision import wanted_for_site
from millrace_airflow.deployment import Deployment, recall, remember

log = logging.getLogger(__name__)


def provision(deployment: Deployment, layout: Layout, *, last_try: bool) -> list[str]:
    """Every difference that was made, in words."""
    changes, unreachable = _provision_sites(deployment, layout)
    if unreachable and not (last_try and _may_go_on(deployment, layout, unreachable)):
        raise TransientError("\n".join(unreachable))
    for problem in unreachable:
        log.warning("going on without a site: %s", problem)
    changes += _provision_lake(deployment, layout)
    remember(layout, deployment)
    return changes


def _provision_sites(deployment: Deployment, layout: Layout) -> tuple[list[str], list[str]]:
    from millrace.edge.provision import provision_site

    changes: list[str] = []
    unreachable: list[str] = []
    for site in deployment.sites:
        try:
            wanted = wanted_for_site(site, [deployment.pipeline])
            changes += [f"{site.name}: {made}" for made in provision_site(site, wanted, layout)]
        except TransientError as error:
            unreachable.append(f"{site.name}: {error}")
    return changes, unreachable


def _may_go_on(deployment: Deployment, layout: Layout, unreachable: list[str]) -> bool:
    """With some sites there, or with nothing that was not provisioned before."""
    before = recall(layout, deployment.pipeline.name)
    known = before is not None and before.digest == deployment.digest
    return known or len(unreachable) < len(deployment.sites)


def _provision_lake(deployment: Deployment, layout: Layout) -> list[str]:
    from millrace.lake.tables import ensure_bronze

    changes = [str(made) for made in ensure_bronze(deployment.job(layout).table)]
    for site in deployment.sites:
        checkpoint = layout.checkpoint(deployment.pipeline.name, site.name)
        if not checkpoint.is_dir():
            checkpoint.mkdir(parents=True)
            changes.append(f"checkpoint folder {checkpoint}")
    return changes
