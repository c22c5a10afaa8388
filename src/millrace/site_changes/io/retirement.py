"""A site goes: its file first, then the jobs let go of it, then its users and rights."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from millrace.base.errors import MillraceError
from millrace.gateway.bundle.io.pack_bundle import bundle_file
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.io.installed_kinds import installed_kinds, load_kind
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_users import plan_removal
from millrace.provisioning.io.site_admin import admin_of
from millrace.secrets.io.passwords import forget_users
from millrace.site_changes.core.site_change import SiteChange

Say = Callable[[str], None]

# A job is told by its supervision, finishes its batch, and starts anew.
_JOBS_LET_GO_S = 180.0
_POLL_S = 1.0


def retire(layout: Platform, change: SiteChange, say: Say) -> None:
    """Each step is one that can be done again, and while passwords are here it is not over."""
    if change.before:
        _move_file(layout, change.site.name, say)
    if not change.needs_cluster:
        return
    _await_jobs(layout, change.site.name, say)
    admin = admin_of(layout, change.site)
    for one in admin.apply_all(plan_removal(admin.observe(()))):
        say(str(one))
    bundle_file(layout, change.site.name).unlink(missing_ok=True)
    forget_users(layout, change.site.name)
    say("passwords and bundle: deleted here")


def _move_file(layout: Platform, site: str, say: Say) -> None:
    layout.retired_sites.mkdir(exist_ok=True)
    moved = layout.retired_sites / f"{site}.yaml"
    layout.site(site).replace(moved)
    say(f"{moved}: the site's file is here now")


def _await_jobs(layout: Platform, site: str, say: Say) -> None:
    """A job whose user is taken from under it would die, and its other sites with it."""
    deadline = time.monotonic() + _JOBS_LET_GO_S
    waits_for: list[str] = []
    while reading := jobs_reading(layout, site):
        if time.monotonic() > deadline:
            raise MillraceError(
                f"site {site!r} is still read by the job of {', '.join(reading)} after"
                f" {_JOBS_LET_GO_S:.0f} s; is its DAG paused, or Airflow down? Its users are left"
                " as they are; retire it again when the job has been started anew or stopped"
            )
        if reading != waits_for:
            waits_for = reading
            say(f"waiting for the job of {', '.join(reading)} to start anew without the site")
        time.sleep(_POLL_S)


def jobs_reading(layout: Platform, site: str) -> list[str]:
    """Jobs of any kind."""
    now = datetime.now(UTC)
    forms = [load_kind(name).beat for name in installed_kinds()]
    names = sorted(folder.name for folder in layout.jobs.glob("*"))
    beats = [beat for name in names for form in forms for beat in _beats(layout, name, form)]
    return [beat.job for beat in beats if beat.reads(site, now)]


def _beats(layout: Platform, job_id: str, form: type[Heartbeat]) -> list[Heartbeat]:
    """Wherever the job ran last: its file may be gone, or name another runner by now."""
    places = {str(layout.job(job_id)), layout.shared_mailbox(job_id)}
    beats = [Mailbox(place, layout.bucket).read_heartbeat(form) for place in sorted(places)]
    return [beat for beat in beats if beat]
