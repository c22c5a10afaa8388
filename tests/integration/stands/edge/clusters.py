"""A cluster of brokers that die one by one, each behind a link that can be cut."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient

from millrace.kafka.core.broker_settings import node_ports, nodes
from millrace.kafka.io.client_errors import UnreachableError
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import ClientSettings, LocalBroker, SiteSpec
from millrace.stack.io.brokers.local_broker import prepare_broker
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.link import Link
from tests.support import free_ports, start, wait_until

_UP_WITHIN_S = 90.0
_PORTS = 3


@dataclass
class RunningCluster(RunningSite):
    """`process` of the base stays None: there are several."""

    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    links: dict[int, Link] = field(default_factory=dict)

    @classmethod
    def prepare(cls, layout: Platform, name: str, brokers: int, room_for: int) -> RunningCluster:
        first = free_ports(_PORTS * room_for)
        servers = ",".join(f"127.0.0.1:{first + _PORTS * number}" for number in range(brokers))
        spec = SiteSpec(
            name=name, bootstrap=servers, local=LocalBroker(brokers=brokers), direct=True
        )
        return cls(spec, layout, prepare_broker(spec, layout))

    def settings(self, user: str) -> ClientSettings:
        servers = ",".join(f"127.0.0.1:{link.port}" for link in self.links.values())
        return {**super().settings(user), "bootstrap.servers": servers}

    def start_all(self) -> None:
        for node in nodes(self.spec):
            self.start_node(node)
        wait_until(lambda: self.live() == set(nodes(self.spec)), _UP_WITHIN_S, "all brokers up")

    def start_node(self, node: int) -> None:
        program = prepare_broker(self.spec, self.layout, node)
        link = self.links.setdefault(node, Link(node_ports(self.spec, node)[0]))
        properties = program.directory / "server.properties"
        before, after = f"CLIENT://127.0.0.1:{node_ports(self.spec, node)[0]}", link.port
        head, key, tail = properties.read_text().partition("advertised.listeners=")
        tail = tail.replace(before, f"CLIENT://127.0.0.1:{after}", 1)
        properties.write_text(head + key + tail)
        self.running[node] = start(program)

    def kill_node(self, node: int, number: signal.Signals = signal.SIGKILL) -> None:
        process = self.running.pop(node)
        with suppress(ProcessLookupError):
            process.send_signal(number)
        process.wait(30)

    def add_node(self) -> int:
        """As `cluster add-broker` does, without a process manager."""
        assert self.spec.local
        larger = self.spec.local.model_copy(update={"brokers": self.spec.brokers + 1})
        self.spec = self.spec.model_copy(update={"local": larger})
        node = self.spec.brokers
        self.start_node(node)
        wait_until(lambda: node in self.live(), _UP_WITHIN_S, f"broker {node} up")
        return node

    def live(self) -> set[int]:
        try:
            self.provision(self.wanted)
        except UnreachableError:
            return set()
        return set(AdminClient(self.admin).list_topics(timeout=10).brokers)

    def leader(self, topic: str, partition: int) -> int:
        admin = AdminClient(self.admin)
        return admin.list_topics(topic, timeout=10).topics[topic].partitions[partition].leader

    def cut(self) -> None:
        for link in self.links.values():
            link.cut()

    def mend(self) -> None:
        for link in self.links.values():
            link.mend()

    def clean_up(self) -> None:
        for link in self.links.values():
            link.close()
        for node in list(self.running):
            self.kill_node(node)
