"""A relay with the passwords and the files that are kept here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event

from millrace.base.errors import MillraceError
from millrace.incidents.core.event import EventKind, make_event
from millrace.incidents.io.outbox import tell
from millrace.kafka.core.coordinates import Part
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.provisioning.io.site_admin import provision_as_admin
from millrace.relay.core.beat import RelayBeat
from millrace.relay.core.relay_plan import Halt
from millrace.relay.core.relay_references import describe_unknown_relay, sites_of_relay
from millrace.relay.core.relay_rights import wanted_at_site, wanted_at_target
from millrace.relay.core.spec import RelaySpec
from millrace.relay.core.start import Renewal
from millrace.relay.io.beat_files import read_relay_beat, write_relay_beat
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.loss import accept_loss
from millrace.relay.io.relay_files import load_clusters, load_relays
from millrace.relay.io.relay_run import Relay
from millrace.secrets.io.passwords import read_user
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import RELAY
from millrace.storage.io.files import mtime_ns

_LOOK_EVERY_S = 2.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class RelayPlan:
    spec: RelaySpec
    sites: tuple[SiteSpec, ...]
    cluster: SiteSpec

    @classmethod
    def load(cls, layout: Platform, name: str) -> RelayPlan:
        relays = {relay.name: relay for relay in load_relays(layout)}
        if name not in relays:
            raise MillraceError(describe_unknown_relay(name, list(relays)))
        spec = relays[name]
        clusters = {cluster.name: cluster for cluster in load_clusters(layout)}
        sites = sites_of_relay(spec, load_sites(layout))
        return cls(spec, tuple(sites), clusters[spec.to])


def provision_relay(
    layout: Platform, plan: RelayPlan, sites: Sequence[SiteSpec] | None = None
) -> list[str]:
    """Users and rights at `sites`, or all of them, and at the target; what was changed."""
    names = [site.name for site in plan.sites]
    wanted = [
        (site, wanted_at_site(plan.spec)) for site in (plan.sites if sites is None else sites)
    ]
    wanted.append((plan.cluster, wanted_at_target(plan.spec, names)))
    return [
        f"{place.name}: {line}"
        for place, what in wanted
        for line in provision_as_admin(layout, place, what)
    ]


def run_relay(layout: Platform, name: str, ended: Event, say: Say) -> None:
    """Until `ended`. Files that change are taken up in between two transactions."""
    plan = RelayPlan.load(layout, name)
    while not ended.is_set():
        stop = Event()
        relay = _make(layout, plan, stop, say)
        with ThreadPoolExecutor(1) as pool:
            following = pool.submit(_follow, layout, plan, stop, ended, say)
            try:
                relay.run()
            finally:
                stop.set()
            plan = following.result()


def go_on_behind(layout: Platform, name: str, part: Part, offset: int | None) -> int:
    """Agree to a loss: the relay that runs is shut out, and goes on from there when restarted."""
    plan = RelayPlan.load(layout, name)
    sources = {site.name: site for site in plan.sites}
    if part.site not in sources or part.topic not in plan.spec.topics:
        known = ", ".join(sources)
        raise MillraceError(
            f"relay {name!r} does not bring {part}; its sites are {known},"
            f" its topics {', '.join(plan.spec.topics)}"
        )
    source, target = _door(layout, sources[part.site]), _door(layout, plan.cluster)
    return accept_loss(plan.spec, source, target, part, offset)


def _make(layout: Platform, plan: RelayPlan, stop: Event, say: Say) -> Relay:
    before = read_relay_beat(layout, plan.spec.name)
    known = set(before.halts) if before else set()
    known_ids = {one.topic_id for one in before.renewals} if before else set()

    def publish(beat: RelayBeat) -> None:
        write_relay_beat(layout, beat)

    def on_halt(halt: Halt) -> None:
        name, now = plan.spec.name, datetime.now(UTC)
        text = f"{halt.text}; {halt.way_out(name)}"
        say(text)
        if halt not in known:
            tell(layout, [make_event(EventKind.RELAY_HALTED, name, now, text, halt.site)])

    def on_renewal(renewal: Renewal) -> None:
        say(renewal.text)
        if renewal.topic_id not in known_ids:
            now = datetime.now(UTC)
            told = make_event(
                EventKind.RELAY_RENEWED, plan.spec.name, now, renewal.text, renewal.site
            )
            tell(layout, [told])

    return Relay(
        plan.spec,
        [_door(layout, site) for site in plan.sites],
        _door(layout, plan.cluster),
        stop=stop,
        publish=publish,
        on_halt=on_halt,
        on_renewal=on_renewal,
        say=say,
    )


def _door(layout: Platform, cluster: SiteSpec) -> Door:
    def login() -> dict[str, str]:
        user = read_user(layout, cluster.name, RELAY)
        return {"sasl.username": user.username, "sasl.password": user.password}

    settings = {**librdkafka_settings(cluster, layout.ca, "", ""), **login()}
    return Door(cluster, settings, login)


def _follow(layout: Platform, plan: RelayPlan, stop: Event, ended: Event, say: Say) -> RelayPlan:
    """The plan to go on with, as soon as `stop`, which is set when it is another."""
    seen = _stamps(layout)
    while not stop.wait(_LOOK_EVERY_S / 10):
        if ended.is_set():
            stop.set()
        now = _stamps(layout)
        if now == seen:
            continue
        seen = now
        changed = _load_again(layout, plan, say)
        if changed != plan:
            say(f"relay {plan.spec.name!r}: its files changed; taking them up")
            stop.set()
            return changed
    return plan


def _load_again(layout: Platform, plan: RelayPlan, say: Say) -> RelayPlan:
    """A mistake in a file changes nothing until it is put right."""
    try:
        return RelayPlan.load(layout, plan.spec.name)
    except MillraceError as error:
        say(f"relay {plan.spec.name!r} goes on as before: {error}")
        return plan


def _stamps(layout: Platform) -> dict[str, int]:
    folders = (layout.relays, layout.clusters, layout.sites)
    return {str(file): mtime_ns(file) for folder in folders for file in folder.glob("*.yaml")}
