"""A change of the sites: a request held against what there is, and refused or planned.

Whatever is refused is refused here, before a file, a password or a cluster is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from millrace.base.model import Frozen
from millrace.base.suggest import did_you_mean
from millrace.pipelines.core.references import check_sites, describe_unknown_site
from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import (
    Actual,
    Change,
    Wanted,
    plan_changes,
    wanted_for_site,
)
from millrace.provisioning.core.site_users import SetPassword, UserChange, plan_removal
from millrace.site_changes.core.site_request import (
    SiteAction,
    SiteRequest,
    SiteRequestError,
    make_site,
    merge_client,
    refuse_misplaced,
)
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import SITE_USERS


class Present(Frozen):
    """The files as they are. `leaving`: retired, but some of their users may still be there."""

    sites: tuple[SiteSpec, ...]
    pipelines: tuple[PipelineSpec, ...] = ()
    leaving: tuple[SiteSpec, ...] = ()


class SiteChange(Frozen):
    """What is to be done. `site` is as it will be, or as it was where it goes."""

    action: SiteAction
    site: SiteSpec
    # None: it has no file yet, or no longer one.
    before: SiteSpec | None = None
    # Pipelines that read the site, now or from then on.
    readers: tuple[str, ...] = ()
    # Whose password is made anew.
    users: tuple[str, ...] = ()
    wanted: Wanted = Wanted()
    # Whether the cluster has to answer: it is asked before anything is written.
    needs_cluster: bool = True


def plan_site_change(request: SiteRequest, present: Present) -> SiteChange:
    refuse_misplaced(request)
    match request.action:
        case SiteAction.ADD:
            return _plan_add(request, present)
        case SiteAction.CHANGE:
            return _plan_change(request, present)
        case SiteAction.RETIRE:
            return _plan_retirement(request, present)
        case SiteAction.ROTATE:
            return _plan_rotation(request, present)


def plan_at_cluster(
    change: SiteChange, actual: Actual, known: Collection[str]
) -> tuple[Change | UserChange, ...]:
    """What is to be done there. `known`: users whose passwords are on file here."""
    if change.action is SiteAction.RETIRE:
        return plan_removal(actual)
    # Users that the cluster has from elsewhere are of no use without a password.
    unknown = [user for user in SITE_USERS if user in actual.users and user not in known]
    renewed = change.users or (unknown if change.wanted.users else ())
    passwords = [SetPassword(user=user) for user in renewed]
    return (*passwords, *plan_changes(change.wanted, actual))


def _plan_add(request: SiteRequest, present: Present) -> SiteChange:
    if any(site.name == request.site for site in present.sites):
        raise SiteRequestError(
            f"site {request.site!r} exists already (dags/sites/{request.site}.yaml); change it, or"
            " give the new one another name"
        )
    if request.bootstrap is None:
        raise SiteRequestError(
            "bootstrap is missing; write host:port, such as kafka.plant-a.example:9093"
        )
    site = make_site(
        name=request.site,
        bootstrap=request.bootstrap,
        description=request.description or "",
        client=merge_client({}, request.client),
        local={} if request.local else None,
    )
    _refuse_shared_bootstrap(site, present.sites)
    return _settled(SiteChange(action=request.action, site=site), present)


def _plan_change(request: SiteRequest, present: Present) -> SiteChange:
    before = _find(request.site, present.sites)
    said = request.model_dump(include={"bootstrap", "description"}, exclude_none=True)
    values = before.model_dump() | said | {"client": merge_client(before.client, request.client)}
    site = make_site(**values)
    if site == before:
        raise SiteRequestError(
            f"site {before.name!r} is so already; say a bootstrap, a description or a client"
            " setting that differs"
        )
    _refuse_shared_bootstrap(site, [other for other in present.sites if other != before])
    return _settled(SiteChange(action=request.action, site=site, before=before), present)


def _settled(change: SiteChange, present: Present) -> SiteChange:
    """With what the pipelines need of it. A broker of this machine gets that when it is up."""
    site, before = change.site, change.before
    others = [other for other in present.sites if other.name != site.name]
    problems = check_sites([*others, site])
    if problems:
        raise SiteRequestError(problems[0].text)
    moves = before is None or (site.bootstrap, site.client) != (before.bootstrap, before.client)
    asks = moves and site.local is None
    return change.model_copy(
        update={
            "readers": _readers(site, present.pipelines),
            "needs_cluster": asks,
            "wanted": wanted_for_site(site, present.pipelines) if asks else Wanted(),
        }
    )


def _plan_retirement(request: SiteRequest, present: Present) -> SiteChange:
    leaving = {site.name: site for site in present.leaving}
    there = {site.name for site in present.sites}
    # Once more, where a retirement was cut short: its file has gone already.
    if request.site in leaving and request.site not in there:
        site, before = leaving[request.site], None
    else:
        site = before = _find(request.site, present.sites)
        _refuse_while_needed(site, present)
    if request.typed != site.name and not request.dry_run:
        raise SiteRequestError(
            f"to retire site {site.name!r}, type its name once more; it was {request.typed!r}"
        )
    return SiteChange(
        action=request.action,
        site=site,
        before=before,
        readers=_readers(site, present.pipelines) if before else (),
        needs_cluster=not request.keep_users,
    )


def _plan_rotation(request: SiteRequest, present: Present) -> SiteChange:
    site = _find(request.site, present.sites)
    if not request.users:
        raise SiteRequestError(f"whose password? Name users: {', '.join(SITE_USERS)}")
    for user in request.users:
        if user not in SITE_USERS:
            guess = did_you_mean(user, SITE_USERS)
            raise SiteRequestError(
                f"site {site.name!r} has no user {user!r} of ours; {guess}there are:"
                f" {', '.join(SITE_USERS)}"
            )
    users = tuple(user for user in SITE_USERS if user in request.users)
    readers = _readers(site, present.pipelines)
    return SiteChange(action=request.action, site=site, before=site, users=users, readers=readers)


def _refuse_shared_bootstrap(site: SiteSpec, others: Iterable[SiteSpec]) -> None:
    mine = _servers(site)
    for other in others:
        shared = mine & _servers(other)
        if shared:
            raise SiteRequestError(
                f"bootstrap={site.bootstrap!r}: {min(shared)} is the cluster of site"
                f" {other.name!r}; each site has its own"
            )


def _refuse_while_needed(site: SiteSpec, present: Present) -> None:
    naming = [p.name for p in present.pipelines if p.sites != "all" and site.name in p.sites]
    if naming:
        files = ", ".join(f"dags/pipelines/{name}.yaml" for name in naming)
        raise SiteRequestError(
            f"site {site.name!r} is named by {files}; take it out of `sites` there first"
        )
    of_all = [p.name for p in present.pipelines if p.sites == "all"]
    if of_all and len(present.sites) == 1:
        raise SiteRequestError(
            f"site {site.name!r} is the last, and {', '.join(of_all)} would have none to read;"
            " stop and remove these pipelines, or add another site first"
        )


def _find(name: str, sites: Iterable[SiteSpec]) -> SiteSpec:
    known = {site.name: site for site in sites}
    if name not in known:
        raise SiteRequestError(describe_unknown_site(name, list(known)))
    return known[name]


def _readers(site: SiteSpec, pipelines: Iterable[PipelineSpec]) -> tuple[str, ...]:
    return tuple(pipeline.name for pipeline in pipelines if pipeline.reads(site.name))


def _servers(site: SiteSpec) -> set[str]:
    return {server.strip().lower() for server in site.bootstrap.split(",")}
