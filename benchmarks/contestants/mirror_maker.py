"""MirrorMaker 2 with exactly-once in its dedicated mode: as it comes, and tuned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.stands.arena import CHECKOUT, PARTITIONS, Arena
from millrace.kafka.core.kafka_client import admin_settings, as_properties

# A transaction for each poll is its default, so a poll should be large; both ends in large fetches
# and batches, as the relay has them.
_TUNED: dict[str, object] = {
    "edge.consumer.max.poll.records": 20_000,
    "edge.consumer.max.partition.fetch.bytes": 8 * 1024 * 1024,
    "edge.consumer.fetch.max.bytes": 32 * 1024 * 1024,
    "centre.producer.batch.size": 1_000_000,
    "centre.producer.linger.ms": 5,
    "centre.producer.compression.type": "lz4",
    "centre.producer.buffer.memory": 128 * 1024 * 1024,
}
_NEEDED: dict[str, object] = {
    "edge->centre.enabled": True,
    "centre->edge.enabled": False,
    "edge->centre.topics": "readings",
    "tasks.max": PARTITIONS,
    "exactly.once.source.support": "enabled",
    "dedicated.mode.enable.internal.rest": True,
    # What the relay does not do either.
    "emit.heartbeats.enabled": False,
    "emit.checkpoints.enabled": False,
    "sync.topic.configs.enabled": False,
    "sync.topic.acls.enabled": False,
    "sync.group.offsets.enabled": False,
    **dict.fromkeys(
        (
            "replication.factor",
            "offset-syncs.topic.replication.factor",
            "offset.storage.replication.factor",
            "config.storage.replication.factor",
            "status.storage.replication.factor",
        ),
        -1,  # as many as the cluster's topics have
    ),
}


@dataclass(frozen=True)
class MirrorMaker:
    """`names` are what it calls its sources, and so their topics at the target."""

    names: tuple[str, ...]
    is_tuned: bool

    @property
    def topics(self) -> list[str]:
        return [f"{name}.readings" for name in self.names]

    def command(self, folder: Path, source: Arena, target: Arena, port: int) -> list[str]:
        settings = {
            **_NEEDED,
            **(_TUNED if self.is_tuned else {}),
            **_access("edge", source),
            **_access("centre", target),
        }
        ours = {
            key.replace("edge", name): one for key, one in settings.items() for name in self.names
        }
        file = folder / f"mirror-maker-{self.names[0]}.properties"
        file.touch(0o600)
        general = {
            "clusters": ",".join((*self.names, "centre")),
            "listeners": f"http://127.0.0.1:{port}",
        }
        file.write_text(as_properties(general | ours) + "\n")
        logging = CHECKOUT / "infra" / "kafka" / "log4j2.properties"
        return [
            "java",
            "-Xmx1g",
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            f"{CHECKOUT}/.jars/kafka/*:{CHECKOUT}/.jars/mirror/*",
            "org.apache.kafka.connect.mirror.MirrorMaker",
            str(file),
        ]


def _access(name: str, arena: Arena) -> dict[str, object]:
    """By certificate, as an administrator: it makes topics of its own."""
    certificate = arena.layout.certificate(arena.site.name, "admin")
    servers = admin_settings(arena.site, arena.layout.ca, certificate)["bootstrap.servers"]
    return {
        f"{name}.{key}": value
        for key, value in {
            "bootstrap.servers": servers,
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": arena.layout.ca,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": certificate,
        }.items()
    }
