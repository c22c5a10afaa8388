"""A broker, a gateway, devices that do not stop, and who counts: beneath each fault."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults.operator import TOKEN, Operator
from benchmarks.faults.stands.fault import Fault, Outcome
from benchmarks.faults.stands.load import Load
from benchmarks.faults.stands.machine import Disk, ImpossibleError
from benchmarks.faults.stands.reader import LiveReader, read_all
from millrace.gateway.client.io.device import Address, device_tls
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.stack.io.brokers.local_broker import prepare_broker
from tests.integration.conftest import TEMPERATURE, RunningSite
from tests.integration.stands.edge.gateways import LINES, RunningGateway
from tests.support import free_ports, wait_until

PARTITIONS = 3
_BEFORE_S, _CALM_S = 3.0, 3.0
_RECOVERS_S, _DRAINS_S = 90.0, 60.0


@dataclass
class Stand:
    name: str
    site: RunningSite
    gateway: RunningGateway
    load: Load
    reader: LiveReader
    # Ends when all is counted.
    stack: ExitStack
    # Of the gateway or of the broker, where it has one of its own.
    disk: Disk | None = None
    # Messages that the fault itself took away, and nobody could save.
    destroyed: set[tuple[str, int]] = field(default_factory=set)

    @property
    def broker_port(self) -> int:
        return self.site.spec.port

    def pass_s(self, duration_s: float) -> None:
        """The load goes on, and the fault too."""
        time.sleep(duration_s)

    def restart_gateway(self) -> None:
        """Killed, as hard as can be, and started by who supervises it."""
        self.gateway.stop(signal.SIGKILL)
        self.gateway.start()


class Arena:
    """What stays from fault to fault: the authority, and a broker."""

    def __init__(self, layout: Platform, stack: ExitStack) -> None:
        self._layout = layout
        self._stack = stack
        self._sites: dict[str, RunningSite] = {}

    def measure(self, fault: Fault) -> Outcome:
        try:
            if fault.whole:
                return fault.whole(self, fault)
            with self._stand(fault) as stand:
                return _measure(fault, stand)
        except ImpossibleError as error:
            return Outcome(fault.name, fault.how, problem=str(error), is_impossible=True)
        except (AssertionError, OSError) as error:
            return Outcome(fault.name, fault.how, problem=f"{type(error).__name__}: {error}")

    @contextmanager
    def _stand(self, fault: Fault) -> Iterator[Stand]:
        with ExitStack() as stack:
            folder = self._layout.home / "gateways" / fault.name
            disk = None
            if fault.broker_disk_mb:
                disk = self._disk(stack, self._layout.broker(fault.name), fault.broker_disk_mb)
            site = self.own_site(stack, fault.name) if disk else self.shared
            if fault.gateway_disk_mb:
                disk = self._disk(stack, folder / "disk", fault.gateway_disk_mb)
            site.add_topic(fault.name, PARTITIONS)
            data = {"data": str(disk.folder / "data")} if fault.gateway_disk_mb and disk else {}
            gateway = _gateway(site, folder, fault, data)
            gateway.start()
            stack.callback(lambda: gateway.stop(signal.SIGKILL))
            yield _loaded(stack, fault.name, site, gateway, disk)

    @property
    def shared(self) -> RunningSite:
        return self._kept("plant-f")

    @property
    def centre(self) -> RunningSite:
        return self._kept("centre")

    def _kept(self, name: str) -> RunningSite:
        if name not in self._sites:
            self._sites[name] = self.own_site(self._stack, name)
        return self._sites[name]

    def own_site(self, stack: ExitStack, name: str) -> RunningSite:
        spec = SiteSpec(
            name=name,
            bootstrap=f"127.0.0.1:{free_ports(3)}",
            direct=True,
            local=LocalBroker(memory="256m"),
        )
        site = RunningSite(spec, self._layout, prepare_broker(spec, self._layout))
        site.wanted = wanted_for_site(spec, [TEMPERATURE])
        stack.callback(lambda: site.stop(signal.SIGKILL))
        site.come_back()
        return site

    def _disk(self, stack: ExitStack, folder: Path, size_mb: int) -> Disk:
        disk = Disk(folder, size_mb)
        stack.callback(disk.close)
        return disk


def _gateway(site: RunningSite, folder: Path, fault: Fault, more: dict[str, str]) -> RunningGateway:
    folder.mkdir(parents=True, exist_ok=True)
    token = folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    one = {**LINES, "topic": fault.name, **fault.settings}
    extra = {"status": {"token": str(token)}, **more}
    return RunningGateway(site, folder, [one], extra, environment=fault.environment)


def _loaded(
    stack: ExitStack, name: str, site: RunningSite, gateway: RunningGateway, disk: Disk | None
) -> Stand:
    tls = device_tls(str(site.layout.ca), str(gateway.device))
    load = Load(Address("127.0.0.1", gateway.port, tls))
    # By the administrator's listener, which no fault of the link touches.
    reader = LiveReader(site.admin, name, PARTITIONS, load.keys)
    reader.start()
    stack.callback(reader.end)
    return Stand(name, site, gateway, load, reader, stack, disk)


def _measure(fault: Fault, stand: Stand) -> Outcome:
    assert fault.make  # noqa: S101 - or it would be measured by itself
    stand.load.start()
    stand.pass_s(_BEFORE_S)
    operator = Operator(stand.gateway)
    operator.start()
    try:
        fault.make(stand)
        ended_s = time.monotonic()
        fresh = stand.reader.freshness
        wait_until(
            lambda: time.monotonic() - max(fresh.stale_s, ended_s) > _CALM_S,
            _RECOVERS_S, "fresh again",
        )  # fmt: skip
    finally:
        stand.reader.stop_watching()
        operator.end()
        stand.load.finish(_DRAINS_S)
    return _judge(fault, stand, operator, ended_s)


def _judge(fault: Fault, stand: Stand, operator: Operator, ended_s: float) -> Outcome:
    sent = stand.load.sent
    expected = sum(sent.values()) - len(stand.destroyed)
    # What does not come is found missing below, and by name.
    deadline_s = time.monotonic() + _DRAINS_S
    while stand.reader.tally.distinct < expected and time.monotonic() < deadline_s:
        stand.pass_s(0.1)
    stand.gateway.stop()
    later = read_all(stand.site.admin, stand.name, PARTITIONS)
    fresh = stand.reader.freshness
    live = stand.reader.tally.judge(sent, stand.destroyed)
    return Outcome(
        fault.name,
        fault.how,
        sent=sum(sent.values()),
        count=live.worst(later.judge(sent, stand.destroyed)),
        destroyed=len(stand.destroyed),
        recovery_s=fresh.recovery_s(ended_s),
        silence_s=fresh.silence_s,
        seen=tuple(operator.seen()),
    )
