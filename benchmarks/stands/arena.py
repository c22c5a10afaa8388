"""Where the contestants meet: one broker with TLS and passwords, a topic, a place for tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.stands.messages import message
from millrace.kafka.core.kafka_client import admin_settings, librdkafka_settings
from millrace.kafka.io.client_errors import UnreachableError
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.provisioning.io.provisioner import provision_site
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.spec import ClientSettings, LocalBroker, SiteSpec
from millrace.stack.io.brokers.local_broker import prepare_brokers
from tests.support import free_ports, start

CHECKOUT = Path(__file__).parents[2]
PARTITIONS = 2
_UP_WITHIN_S = 90


@dataclass(frozen=True)
class Arena:
    layout: Platform
    site: SiteSpec

    def pipeline(self, name: str, *, silver: bool) -> PipelineSpec:
        refined = {"columns": _COLUMNS, "quality": "expectations/silver_temperature.json"}
        return PipelineSpec.model_validate(
            {
                "name": name,
                "sites": [self.site.name],
                "topics": ["readings"],
                "format": "json",
                "table": name.replace("-", "_"),
                "partitions": PARTITIONS,
                **(refined if silver else {}),
            }
        )

    def client(self, user: str) -> ClientSettings:
        password = ensure_user(self.layout, self.site.name, user).password
        return librdkafka_settings(self.site, self.layout.ca, user, password)

    def provision(self) -> None:
        admin = admin_settings(
            self.site, self.layout.ca, self.layout.certificate(self.site.name, "admin")
        )
        wanted = wanted_for_site(self.site, [self.pipeline("any", silver=False)])
        provision_site(self.site, wanted, admin, self._password)

    def _password(self, user: str) -> str:
        return ensure_user(self.layout, self.site.name, user).password

    def fill(self, rows: int) -> None:
        """So many messages, evenly over the partitions."""
        tuned = {"linger.ms": 50, "batch.num.messages": 100_000, "compression.type": "lz4"}
        producer = Producer({**self.client("app"), **tuned})
        for number in range(rows):
            key, value = message(number, int(time.time() * 1000))
            while True:
                try:
                    producer.produce("readings", value, key, partition=number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(60):
            raise RuntimeError("the broker did not take all messages")


_COLUMNS = {
    "sensor_id": {"type": "string", "from": "$.sensor_id", "required": True},
    "measured_at": {"type": "timestamp", "from": "$.timestamp", "required": True},
    "value": {"type": "double", "from": "$.temperature", "required": True},
    "unit": {"type": "string", "from": "$.unit"},
}


@contextmanager
def open_arena(home: Path, brokers: int = 1) -> Iterator[Arena]:
    for part in (".jars", ".venv-lake", "schemas", "infra", "expectations", "spark_jobs"):
        (home / part).symlink_to(CHECKOUT / part)
    broker = LocalBroker(memory="512m", brokers=brokers)
    first = free_ports(3 * brokers)
    servers = ",".join(f"127.0.0.1:{first + 3 * number}" for number in range(brokers))
    site = SiteSpec(name="arena", bootstrap=servers, direct=True, local=broker)
    arena = Arena(Platform(home), site)
    processes = [start(program) for program in prepare_brokers(site, arena.layout)]
    try:
        _await(arena)
        yield arena
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


def _await(arena: Arena) -> None:
    deadline = time.monotonic() + _UP_WITHIN_S
    while True:
        try:
            return arena.provision()
        except UnreachableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
