"""What relays and clusters say of other files: names that exist, and that nobody else has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.base.problem import Problem
from millrace.base.suggest import did_you_mean
from millrace.pipelines.core.references import describe_unknown_site
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.spec import SiteSpec


def sites_of_relay(relay: RelaySpec, sites: Sequence[SiteSpec]) -> list[SiteSpec]:
    return [site for site in sites if relay.reads(site.name)]


def relay_targets(relay: RelaySpec, sites: Sequence[SiteSpec]) -> dict[str, str]:
    """What each topic of a site is called at the target."""
    return {
        f"{topic}@{site.name}": relay.target(site.name, topic)
        for site in sites_of_relay(relay, sites)
        for topic in relay.topics
    }


def check_clusters(clusters: Sequence[SiteSpec], sites: Sequence[SiteSpec]) -> list[Problem]:
    """Passwords and brokers are kept by name, so a cluster may not be called as a site is."""
    taken = {site.name for site in sites}
    problems = []
    for index, cluster in enumerate(clusters):
        if cluster.name in taken:
            text = "is the name of a site too (dags/sites); give the cluster another"
            problems.append(Problem(index, ("name",), f"name={cluster.name!r} {text}"))
        if cluster.local and cluster.local.simulator:
            text = "only sites have simulators; write it into a file of dags/sites"
            problems.append(Problem(index, ("local", "simulator"), text))
    return problems


def check_relays(
    relays: Sequence[RelaySpec], sites: Sequence[SiteSpec], clusters: Sequence[SiteSpec]
) -> list[Problem]:
    known, targets = [site.name for site in sites], [cluster.name for cluster in clusters]
    owners: dict[tuple[str, str], str] = {}
    problems: list[Problem] = []
    for index, relay in enumerate(relays):
        problems.extend(_unknown_sites(index, relay, known))
        if relay.to not in targets:
            problems.append(Problem(index, ("to",), describe_unknown_cluster(relay.to, targets)))
        problems.extend(_shared_targets(index, relay, known, owners))
    return problems


def describe_unknown_cluster(name: str, known: Sequence[str]) -> str:
    guess = did_you_mean(name, known)
    listed = ", ".join(known) or "none yet"
    return f"cluster {name!r} does not exist; {guess}clusters are {listed} (dags/clusters/*.yaml)"


def describe_unknown_relay(name: str, known: Sequence[str]) -> str:
    guess = did_you_mean(name, known)
    listed = ", ".join(known) or "none yet"
    return f"relay {name!r} does not exist; {guess}relays are {listed} (dags/relays/*.yaml)"


def _unknown_sites(index: int, relay: RelaySpec, known: Sequence[str]) -> Iterator[Problem]:
    for number, name in enumerate(relay.sites if relay.sites != "all" else ()):
        if name not in known:
            yield Problem(index, ("sites", number), describe_unknown_site(name, known))


def _shared_targets(
    index: int, relay: RelaySpec, sites: Sequence[str], owners: dict[tuple[str, str], str]
) -> Iterator[Problem]:
    """Two sources in one topic would mix their partitions, and with them their order."""
    for site in (site for site in sites if relay.reads(site)):
        for topic in relay.topics:
            name = relay.target(site, topic)
            source = f"{topic!r} of {site!r} by relay {relay.name!r}"
            owner = owners.setdefault((relay.to, name), source)
            if owner != source:
                text = f"as={relay.pattern!r} brings {source} to {name!r}, which takes {owner}"
                yield Problem(index, ("as",), f"{text}; give each a topic of its own")
