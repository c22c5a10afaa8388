"""A change of the sites in lines for people: every file, user, right and password it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.provisioning.core.site_rights import Change
from millrace.provisioning.core.site_users import UserChange
from millrace.site_changes.core.site_change import SiteChange
from millrace.site_changes.core.site_request import SiteAction
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import APP, GATEWAY, INGEST, REGISTRAR, RELAY, SIMULATOR

# Who has to hear of a new password, and how.
_AFTER_ROTATION = {
    INGEST: "running jobs stay connected, and read the new one when they connect again",
    SIMULATOR: "a running simulator stays connected, and reads the new one when it connects again",
    RELAY: "a running relay stays connected, and reads the new one when it connects again",
    APP: "your own clients need it: millrace client {site}",
    GATEWAY: "the gateway is refused at its next connection, until it has the new bundle; it keeps"
    " its messages meanwhile",
    REGISTRAR: "the next 'millrace register' here reads the new one",
}


def plan_lines(change: SiteChange, at_cluster: Sequence[Change | UserChange]) -> list[str]:
    site = change.site
    there = [f"at {site.bootstrap}: {one}" for one in at_cluster]
    return [*_file_lines(change), *there, *_consequences(change)]


def _file_lines(change: SiteChange) -> Iterator[str]:
    site, before = change.site, change.before
    file = f"dags/sites/{site.name}.yaml"
    if change.action is SiteAction.ADD:
        yield f"{file}: written, bootstrap {site.bootstrap}"
    elif change.action is SiteAction.RETIRE and before:
        yield f"{file}: moved to dags/sites/retired/"
    elif change.action is SiteAction.CHANGE and before:
        yield from (f"{file}: {line}" for line in _differences(before, site))


def _differences(before: SiteSpec, after: SiteSpec) -> Iterator[str]:
    for field in ("bootstrap", "description"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield f"{field}: {old!r} becomes {new!r}"
    for key in sorted(before.client.keys() | after.client.keys()):
        old, new = before.client.get(key), after.client.get(key)
        if old != new:
            yield f"client.{key}: {_shown(old)} becomes {_shown(new)}"


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)


def _consequences(change: SiteChange) -> Iterator[str]:
    match change.action:
        case SiteAction.ADD:
            yield from _after_adding(change)
        case SiteAction.CHANGE:
            yield from _after_changing(change)
        case SiteAction.RETIRE:
            yield from _after_retiring(change)
        case SiteAction.ROTATE:
            for user in change.users:
                yield f"user {user}: " + _AFTER_ROTATION[user].format(site=change.site.name)
    if change.action is not SiteAction.RETIRE:
        yield f"a bundle for its gateway: CA, settings, and the password of user {GATEWAY}"


def _after_adding(change: SiteChange) -> Iterator[str]:
    if change.site.local:
        yield "its broker starts with the next 'millrace up', which makes its users"
    if change.readers:
        yield f"read by {', '.join(change.readers)}: the job finishes its batch and starts anew"
    else:
        yield "no pipeline reads it yet: name it in `sites` of one in dags/pipelines"


def _after_changing(change: SiteChange) -> Iterator[str]:
    site, before = change.site, change.before
    if before and site.bootstrap != before.bootstrap:
        yield (
            "the same cluster has to be at the new address: offsets of another do not fit the"
            " checkpoints (another cluster is another site)"
        )
        if site.local:
            yield "its broker takes the new port with 'millrace down' and 'millrace up'"
    if before and (site.bootstrap, site.client) != (before.bootstrap, before.client):
        for reader in change.readers:
            yield f"pipeline {reader}: its job finishes its batch and starts anew"


def _after_retiring(change: SiteChange) -> Iterator[str]:
    site = change.site
    for reader in change.readers:
        yield f"pipeline {reader}: its job goes on without the site"
    if change.needs_cluster:
        yield "its passwords and its gateway's bundle are deleted here"
    else:
        yield "its users and rights are left on the cluster, and their passwords here"
    yield "topics and their data stay on the cluster, and its rows in the tables"
    if site.local:
        yield f"its broker runs until 'millrace down'; its data stay in var/kafka/{site.name}"
    yield (
        f"to undo it: move dags/sites/retired/{site.name}.yaml back, then"
        f" 'millrace site bundle {site.name}' for its gateway"
    )
