"""What brokers are told once they answer: their users, and what relays need."""

from __future__ import annotations

from millrace.kafka.io.client_errors import UnreachableError
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.provisioning.io.site_admin import provision_as_admin
from millrace.relay.core.relay_references import sites_of_relay
from millrace.relay.io.local_relay import RelayPlan, provision_relay
from millrace.sites.core.spec import SiteSpec
from millrace.stack.io.stack_plan import StackPlan


def has_users(plan: StackPlan, site: SiteSpec) -> bool:
    """Topics and rights on them come with the pipelines that need them."""
    try:
        wanted = wanted_for_site(site, [], plan.layout.events_site)
        provision_as_admin(plan.layout, site, wanted)
    except UnreachableError:
        return False
    return True


def has_relays(plan: StackPlan, cluster: SiteSpec) -> bool:
    """With what its relays need there, and at their sites too once these answer."""
    try:
        for relay in (one for one in plan.relays if one.to == cluster.name):
            needed = RelayPlan(relay, tuple(sites_of_relay(relay, plan.sites)), cluster)
            ours = [site for site in needed.sites if site.local]
            provision_relay(plan.layout, needed, ours)
    except UnreachableError:
        return False
    return True
