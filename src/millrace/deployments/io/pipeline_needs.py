"""Makes what a pipeline needs before its job starts; what is there already is left as it is."""

from __future__ import annotations

import logging

from millrace.base.errors import TransientError
from millrace.ingest.io.ingest_deployment import PipelineDeployment, known_pipelines
from millrace.jobs.io.deployments import recall_as
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.relay.core.central_rights import wanted_at_central
from millrace.sites.core.spec import SiteSpec

log = logging.getLogger(__name__)


def provision_pipeline(
    deployment: PipelineDeployment, layout: Platform, *, last_try: bool
) -> list[str]:
    """Every difference that was made, in words."""
    changes, unreachable = _provision_sites(deployment, layout)
    if unreachable and not (last_try and _may_go_on(deployment, layout, unreachable)):
        raise TransientError("\n".join(unreachable))
    for problem in unreachable:
        log.warning("going on without a site: %s", problem)
    return changes + _provision_lake(deployment, layout)


def _provision_sites(
    deployment: PipelineDeployment, layout: Platform
) -> tuple[list[str], list[str]]:
    changes: list[str] = []
    unreachable: list[str] = []
    for site in deployment.sites:
        try:
            made = _provision_site(site, deployment, layout)
            changes += [f"site {site.name}: {change}" for change in made]
        except TransientError as error:
            unreachable.append(str(error))
    return changes, unreachable


def _provision_site(site: SiteSpec, deployment: PipelineDeployment, layout: Platform) -> list[str]:
    if layout.central:
        from millrace.provisioning.io.central_admin import provision_central

        sharing = _sharing_topics(deployment, layout)
        return provision_central(layout.central, wanted_at_central(layout.central, site, sharing))

    from millrace.provisioning.io.site_admin import provision_as_admin

    wanted = wanted_for_site(site, _sharing_topics(deployment, layout), layout.events_site)
    return provision_as_admin(layout, site, wanted)


def _sharing_topics(deployment: PipelineDeployment, layout: Platform) -> list[PipelineSpec]:
    """A topic of several pipelines has the most partitions that one of them asks for."""
    mine = deployment.pipeline
    others = [other for other in known_pipelines(layout) if other.name != mine.name]
    return [mine, *(other for other in others if set(other.topics) & set(mine.topics))]


def _may_go_on(deployment: PipelineDeployment, layout: Platform, unreachable: list[str]) -> bool:
    """With some sites there, or with nothing that was not provisioned before."""
    before = recall_as(PipelineDeployment, layout, deployment.id)
    known = before is not None and before.digest == deployment.digest
    return known or len(unreachable) < len(deployment.sites)


def _provision_lake(deployment: PipelineDeployment, layout: Platform) -> list[str]:
    from millrace.lake.io.tables import ensure_bronze

    table = deployment.job(layout).tables.bronze
    return [f"table {table}: created"] if ensure_bronze(table, layout.bucket) else []
