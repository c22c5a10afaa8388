"""A change of the sites: planned from the files and the cluster, and carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millrace.gateway.bundle.io.pack_bundle import write_bundle
from millrace.kafka.core.broker_settings import admin_name
from millrace.kafka.io.client_errors import RefusedError, UnreachableError
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Change
from millrace.provisioning.core.site_users import SetPassword, UserChange
from millrace.provisioning.io.site_admin import admin_of, provision_as_admin
from millrace.secrets.io.passwords import draft_password, known_users, take_up
from millrace.secrets.io.pki import BrokenPkiError, ensure_administrator, ensure_authority
from millrace.site_changes.core.site_change import SiteChange, plan_at_cluster, plan_site_change
from millrace.site_changes.core.site_request import SiteAction, SiteRequest, SiteRequestError
from millrace.site_changes.io.present import read_present
from millrace.site_changes.io.retirement import retire
from millrace.site_changes.text import plan_lines
from millrace.sites.core.spec import SiteSpec
from millrace.sites.io.site_files import edited_site_text, new_site_text
from millrace.stack.io.checks import open_var
from millrace.stack.io.exclusive import only_one_at_work
from millrace.storage.io.files import write_atomic, write_new

Say = Callable[[str], None]

# As the files that people write.
_SPEC_MODE = 0o644


@dataclass(frozen=True)
class SitePlan:
    change: SiteChange
    at_cluster: tuple[Change | UserChange, ...] = ()

    @property
    def lines(self) -> list[str]:
        return plan_lines(self.change, self.at_cluster)


def plan_change(layout: Platform, request: SiteRequest, timeout_s: float = 15.0) -> SitePlan:
    """Writes nothing but the papers by which a new cluster is asked."""
    change = plan_site_change(request, read_present(layout))
    if not change.needs_cluster:
        return SitePlan(change)
    return SitePlan(change, _ask_cluster(layout, change, timeout_s))


def carry_out(layout: Platform, plan: SitePlan, say: Say) -> Path | None:
    """The bundle for the site's gateway; None where the site goes. Cut short, it is run again."""
    open_var(layout)
    action, site = plan.change.action, plan.change.site
    with only_one_at_work(layout, f"site {action}"):
        match action:
            case SiteAction.ADD:
                _add(layout, plan, say)
            case SiteAction.CHANGE:
                _change(layout, plan, say)
            case SiteAction.RETIRE:
                retire(layout, plan.change, say)
                return None
            case SiteAction.ROTATE:
                for user in plan.change.users:
                    renew_password(layout, site, user, say)
        return write_bundle(layout, site)


def renew_password(layout: Platform, site: SiteSpec, user: str, say: Say) -> None:
    """Whoever is connected stays so; whoever connects from now on needs the new one.

    The draft is safe on disk before the cluster hears of it, so the password that counts is always
    in a file here, and the file that clients read is wrong for the moment of a rename alone. Cut
    short anywhere, the same again finds the draft, tells the cluster the same, and takes it up.
    """
    draft_password(layout, site.name, user)
    say(f"user {user}: the next password is on file")
    admin_of(layout, site).apply(SetPassword(user=user))
    say(f"user {user}: the cluster has it")
    take_up(layout, site.name, user)
    say(f"user {user}: the new password is in force")


def _ask_cluster(
    layout: Platform, change: SiteChange, timeout_s: float
) -> tuple[Change | UserChange, ...]:
    site = change.site
    _ensure_certificate(layout, site)
    try:
        admin = admin_of(layout, site, timeout_s)
        actual = admin.observe(topic.name for topic in change.wanted.topics)
    except UnreachableError as error:
        if change.action is not SiteAction.RETIRE:
            raise
        way_out = "if it is gone for good, retire it with its users left there (keep users)"
        raise UnreachableError(site.name, f"{error.reason}; {way_out}") from error
    except RefusedError as error:
        needs = f"trust {layout.ca} and have 'User:{admin_name(site)}' among its super users"
        raise RefusedError(site.name, f"{error.reason}; the cluster has to {needs}") from error
    return plan_at_cluster(change, actual, known_users(layout, site.name))


def _ensure_certificate(layout: Platform, site: SiteSpec) -> None:
    file = layout.certificate(site.name, "admin")
    if not file.exists():
        open_var(layout)
    try:
        ensure_administrator(layout, site)
    except BrokenPkiError as error:
        raise SiteRequestError(
            f"there is no certificate of an administrator of site {site.name!r}, and none can be"
            f" made here without the CA's key; put it, its key and the CA in {file} (0600)"
        ) from error


def _add(layout: Platform, plan: SitePlan, say: Say) -> None:
    """The file comes last: who reads it finds the site ready, and until then nothing was added."""
    site, file = plan.change.site, layout.site(plan.change.site.name)
    _bring_about(layout, plan, say)
    if not layout.ca.exists():
        ensure_authority(layout)
    if not write_new(file, new_site_text(site), _SPEC_MODE):
        raise SiteRequestError(f"{file} was written by somebody else meanwhile; it was left alone")
    say(f"{file}: written")


def _change(layout: Platform, plan: SitePlan, say: Say) -> None:
    site, file = plan.change.site, layout.site(plan.change.site.name)
    _bring_about(layout, plan, say)
    write_atomic(file, edited_site_text(file.read_text(), site), _SPEC_MODE)
    say(f"{file}: written")


def _bring_about(layout: Platform, plan: SitePlan, say: Say) -> None:
    """What the pipelines need, at the cluster; nothing where its broker is not up yet."""
    site = plan.change.site
    if not plan.change.needs_cluster:
        return
    for one in plan.at_cluster:
        if isinstance(one, SetPassword):
            renew_password(layout, site, one.user, say)
    for line in provision_as_admin(layout, site, plan.change.wanted):
        say(f"site {site.name}: {line}")
