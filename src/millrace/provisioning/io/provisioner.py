"""Provisioning does: bring a site to what is wanted, and say what was changed."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import KafkaException

from millrace.kafka.io.client_errors import SiteError
from millrace.provisioning.core.site_rights import Wanted, plan_changes
from millrace.provisioning.io.admin import Admin, is_conflict
from millrace.sites.core.spec import ClientSettings, SiteSpec

# Each conflict means that somebody else got one step further; so few rounds are enough.
_ROUNDS = 10


def provision_site(
    site: SiteSpec,
    wanted: Wanted,
    settings: ClientSettings,
    password_of: Callable[[str], str],
    timeout_s: float = 15.0,
) -> list[str]:
    """What was changed, a line each. Run twice, or by two at once, it comes to the same."""
    admin = Admin(site, settings, password_of, timeout_s)
    done: list[str] = []
    for _ in range(_ROUNDS):
        if _bring_about(wanted, admin, done):
            return done
    raise SiteError(site.name, "somebody else keeps changing its topics; provision it again later")


def _bring_about(wanted: Wanted, admin: Admin, done: list[str]) -> bool:
    """False after a conflict: then the world is looked at anew."""
    names = (topic.name for topic in wanted.topics)
    actual = admin.observe(names, with_users=bool(wanted.users))
    try:
        # Also those before one that fails.
        done.extend(str(change) for change in admin.apply_all(plan_changes(wanted, actual)))
    except KafkaException as error:
        if is_conflict(error):
            return False
        raise
    return True
