"""What brokers are told once they answer: their users, and what relays need."""

from __future__ import annotations

from millrace.core.provision import wanted_for_site
from millrace.core.relay_references import sites_of_relay
from millrace.core.site import SiteSpec
from millrace.edge.errors import UnreachableError
from millrace.local.plan import StackPlan
from millrace.local.provision import provision_as_admin
from millrace.local.relay import RelayPlan, provision_relay


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
