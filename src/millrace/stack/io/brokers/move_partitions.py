"""Moves partitions between a cluster's brokers while data flow, by Kafka's own tool."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata

from millrace.base.errors import MillraceError
from millrace.kafka.core.kafka_client import admin_settings, as_properties
from millrace.kafka.core.rebalance import MovedPartition, Replicas, plan_moves
from millrace.kafka.io.client_errors import Watch, watched
from millrace.settings.core.paths import Paths
from millrace.sites.core.spec import ClientSettings, SiteSpec
from millrace.storage.io.files import make_private, write_atomic

_TOOL = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_ASK_S = 15.0
_TOOL_S = 120
_LOOK_EVERY_S = 1.0
Say = Callable[[str], None]


class Rebalance:
    """One cluster's partitions, and where they should be."""

    def __init__(self, cluster: SiteSpec, layout: Paths) -> None:
        self._cluster, self._layout = cluster, layout
        certificate = layout.certificate(cluster.name, "admin")
        self._settings = admin_settings(cluster, layout.ca, certificate)
        self._watch = Watch(cluster, self._settings)
        self._admin = AdminClient(watched(self._settings, self._watch))

    def brokers(self) -> list[int]:
        """Those that are there now."""
        return sorted(self._metadata().brokers)

    def plan(self, without: Iterable[int] = ()) -> dict[MovedPartition, Replicas]:
        """Onto the brokers that are there, but for `without`."""
        leaving = set(without)
        there = [broker for broker in self.brokers() if broker not in leaving]
        return plan_moves(self._held(), there)

    def execute(
        self, moves: dict[MovedPartition, Replicas], bytes_per_s: int, say: Say, within_s: float
    ) -> None:
        """Until every replica is in sync where it should be; then no throttle is left behind."""
        make_private(self._layout.run)
        with tempfile.TemporaryDirectory(dir=self._layout.run, prefix="moves-") as folder:
            arguments = self._arguments(moves, Path(folder))
            self._call(*arguments, "--execute", "--throttle", str(bytes_per_s))
            self._await(moves, say, within_s)
            self._call(*arguments, "--verify")
        self._elect(moves)

    def _await(self, moves: dict[MovedPartition, Replicas], say: Say, within_s: float) -> None:
        deadline, said = time.monotonic() + within_s, -1
        while left := self._unfinished(moves):
            if time.monotonic() > deadline:
                raise MillraceError(
                    f"cluster {self._cluster.name!r}: {left} of {len(moves)} partitions are still"
                    f" on their way after {within_s:.0f} s, and go on; look again with 'millrace"
                    f" cluster rebalance {self._cluster.name} --dry-run'"
                )
            if left != said:
                say(f"{len(moves) - left} of {len(moves)} partitions are where they should be")
                said = left
            time.sleep(_LOOK_EVERY_S)

    def _unfinished(self, moves: dict[MovedPartition, Replicas]) -> int:
        topics = self._metadata().topics
        seen = {place: topics[place.topic].partitions[place.partition] for place in moves}
        return sum(
            set(one.replicas) != set(moves[place]) or not set(moves[place]) <= set(one.isrs)
            for place, one in seen.items()
        )

    def _elect(self, moves: dict[MovedPartition, Replicas]) -> None:
        """Whoever stands first leads from now on, not some minutes later."""
        places = [TopicPartition(place.topic, place.partition) for place in moves]
        self._admin.elect_leaders(ElectionType.PREFERRED, places).result(_ASK_S)

    def _held(self) -> dict[MovedPartition, Replicas]:
        return {
            MovedPartition(name, number): tuple(one.replicas)
            for name, topic in self._metadata().topics.items()
            for number, one in topic.partitions.items()
        }

    def _metadata(self) -> ClusterMetadata:
        try:
            return self._admin.list_topics(timeout=_ASK_S)
        except KafkaException as error:
            self._admin.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0]) from error

    def _arguments(self, moves: dict[MovedPartition, Replicas], folder: Path) -> list[str]:
        listed = [{**place._asdict(), "replicas": list(moves[place])} for place in sorted(moves)]
        plan, login = folder / "moves.json", folder / "admin.properties"
        write_atomic(plan, json.dumps({"version": 1, "partitions": listed}))
        write_atomic(login, as_properties(_java_settings(self._settings)) + "\n")
        servers = str(self._settings["bootstrap.servers"])
        connection = ["--bootstrap-server", servers, "--command-config", str(login)]
        return [*connection, "--reassignment-json-file", str(plan)]

    def _call(self, *arguments: str) -> None:
        jars = f"{self._layout.jars('kafka')}/*"
        logging = self._layout.home / "infra" / "kafka" / "log4j2.properties"
        options = ("-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={logging}")
        command = ("java", *options, "-cp", jars, _TOOL, *arguments)
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TOOL_S,
            check=False,
        )
        if done.returncode:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
            raise MillraceError(f"cluster {self._cluster.name!r}: partitions do not move: {last}")


def _java_settings(settings: ClientSettings) -> dict[str, object]:
    """The administrator's certificate, in the words of Java's clients."""
    return {
        "security.protocol": settings["security.protocol"],
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": settings["ssl.ca.location"],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": settings["ssl.certificate.location"],
    }
