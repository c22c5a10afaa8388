"""One real broker for all of these tests, with its own home, and what to reach it with."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.kafka.core.kafka_client import admin_settings, librdkafka_settings
from millrace.kafka.io.client_errors import UnreachableError
from millrace.lake.core.refine import RefineSpec
from millrace.lake.io.tables import ensure_bronze
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.provisioning.core.site_rights import Acl, Wanted, wanted_for_site
from millrace.provisioning.io.acls import exactly
from millrace.provisioning.io.provisioner import provision_site
from millrace.schemas.io.avro import Schemas
from millrace.secrets.io.passwords import ensure_user
from millrace.settings.core.engine import EngineParts
from millrace.sites.core.spec import ClientSettings, LocalBroker, SiteSpec
from millrace.stack.io.brokers.local_broker import prepare_broker
from millrace.storage.core.bucket import Bucket
from millrace.storage.core.store_server import PORTS_NEEDED
from tests.integration.stands.edge.mosquitto import RunningMosquitto
from tests.integration.stands.edge.mqtt_broker import RunningMqtt
from tests.integration.stands.lake.ingest_driver import IngestDriver
from tests.integration.stands.lake.lake import Lake
from tests.integration.stands.lake.object_store import RunningStore
from tests.support import compile_quickly, free_ports, start, wait_until

if TYPE_CHECKING:
    from tests.integration.stands.edge.gateways import NewGateway, RunningGateway

CHECKOUT = Path(__file__).parents[2]
START_TIMEOUT_S = 60
Message = tuple[bytes | None, bytes | None]

TEMPERATURE = PipelineSpec(
    name="temperature",
    sites="all",
    topics=("temperature-data",),
    format="avro",
    table="temperature",
)


@dataclass
class RunningSite:
    """A site whose broker is a process of this test run."""

    spec: SiteSpec
    layout: Platform
    program: Program
    process: subprocess.Popen[bytes] | None = None
    wanted: Wanted = field(default_factory=Wanted)

    @property
    def admin(self) -> ClientSettings:
        certificate = self.layout.certificate(self.spec.name, "admin")
        return admin_settings(self.spec, self.layout.ca, certificate)

    @property
    def schemas(self) -> Schemas:
        return Schemas.load(self.layout.schemas)

    @property
    def log(self) -> str:
        return self.program.log.read_text()

    def password_of(self, user: str) -> str:
        return ensure_user(self.layout, self.spec.name, user).password

    def settings(self, user: str) -> ClientSettings:
        return librdkafka_settings(self.spec, self.layout.ca, user, self.password_of(user))

    def start(self) -> None:
        self.process = start(self.program)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def come_back(self) -> None:
        """Start, and answer."""
        self.start()
        _provision_when_up(self)

    def freeze(self) -> None:
        """It answers nothing, and loses nothing, until it is thawed."""
        if self.process:
            self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGCONT)

    def provision(self, wanted: Wanted) -> list[str]:
        return provision_site(self.spec, wanted, self.admin, self.password_of)

    def revoke(self, right: Acl) -> None:
        admin = AdminClient(dict(self.admin))
        for future in admin.delete_acls([exactly(right)]).values():
            future.result(15)

    def add_topic(self, name: str, partitions: int = 2) -> None:
        """A topic of one test alone, with the same rights as a pipeline's."""
        pipeline = TEMPERATURE.model_copy(update={"topics": (name,), "partitions": partitions})
        self.provision(wanted_for_site(self.spec, [pipeline]))

    def produce(self, user: str, topic: str, messages: list[Message]) -> None:
        producer = Producer(self.settings(user))
        errors: list[KafkaError] = []
        for key, value in messages:
            producer.produce(
                topic, value, key, on_delivery=lambda e, _: errors.append(e) if e else None
            )
        assert producer.flush(15) == 0
        assert not errors

    def count(self, user: str, topic: str) -> int:
        """How many messages were ever written to a topic; -1: the broker is on its way up."""
        consumer = Consumer({**self.settings(user), "group.id": _group_of(user)})
        try:
            parts = self._parts(consumer, topic)
            return sum(consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts)
        except KafkaException:
            return -1
        finally:
            consumer.close()

    def consume(self, user: str, topic: str) -> list[Message]:
        """All that is there now, partition after partition."""
        own = {"group.id": _group_of(user), "enable.partition.eof": True}
        consumer = Consumer({**self.settings(user), **own})
        try:
            return [m for part in self._parts(consumer, topic) for m in _read(consumer, part)]
        finally:
            consumer.close()

    def _parts(self, consumer: Consumer, topic: str) -> list[TopicPartition]:
        found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return [TopicPartition(topic, number, 0) for number in sorted(found)]


def _group_of(user: str) -> str:
    """A group that the user may join; without the right, librdkafka tells of it now and then."""
    return "app-test" if user == "app" else "millrace-test"


def _read(consumer: Consumer, part: TopicPartition) -> Iterator[Message]:
    consumer.assign([part])
    while True:
        message = consumer.poll(10)
        assert message is not None, f"no answer about {part}"
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - its name
            return
        yield message.key(), message.value()


@pytest.fixture(scope="session", autouse=True)
def _quick_jvms() -> None:
    compile_quickly()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's read-only parts under a `var` of its own."""
    home = tmp_path_factory.mktemp("home")
    for part in (".jars", ".venv", ".venv-lake", "schemas", "infra"):
        (home / part).symlink_to(CHECKOUT / part)
    return home


@pytest.fixture(scope="session")
def store(home: Path) -> Iterator[RunningStore]:
    running = RunningStore.prepare(Platform(home), free_ports(PORTS_NEEDED))
    running.start()
    try:
        yield running
    finally:
        running.clean_up()


@pytest.fixture(scope="session")
def lake(home: Path) -> Iterator[Lake]:
    """For all tests, each with tables of its own; one that kills takes another."""
    running = Lake.start(home / "lake-host.log")
    yield running
    running.kill()


@pytest.fixture(scope="module")
def mqtt(
    request: pytest.FixtureRequest, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningMqtt]:
    """Started by the first module that wants it; tests take topics of their own."""
    broker = RunningMosquitto if request.config.getoption("--mosquitto") else RunningMqtt
    running = broker.prepare(Platform(home), tmp_path_factory.mktemp("mqtt") / "broker")
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def site(home: Path) -> Iterator[RunningSite]:
    spec = SiteSpec(
        name="plant-t",
        bootstrap=f"127.0.0.1:{free_ports(3)}",
        direct=True,
        local=LocalBroker(memory="256m"),
    )
    layout = Platform(home)
    running = RunningSite(spec, layout, prepare_broker(spec, layout))
    running.start()
    try:
        running.wanted = wanted_for_site(spec, [TEMPERATURE])
        _provision_when_up(running)
        yield running
    finally:
        running.stop()


@pytest.fixture
def new_gateway(site: RunningSite, tmp_path: Path) -> Iterator[NewGateway]:
    from tests.integration.stands.edge.gateways import RunningGateway

    made: list[RunningGateway] = []

    def make(*inputs: dict[str, Any], **extra: Any) -> RunningGateway:
        made.append(RunningGateway(site, tmp_path / f"gateway-{len(made)}", list(inputs), extra))
        made[-1].start()
        return made[-1]

    yield make
    for gateway in made:
        gateway.stop(signal.SIGKILL)


class NewDriver(Protocol):
    """A job of its own: topic, pipeline and table have its name."""

    def __call__(
        self, name: str, bucket: Bucket | None = None, refine: RefineSpec | None = None
    ) -> IngestDriver: ...


OWN_PARTS, THEIR_PARTS = EngineParts(), EngineParts(reader="spark", writer="delta")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests marked `engines` run with both readers and writers, one pair of them always."""
    mark = metafunc.definition.get_closest_marker("engines")
    if mark is None or "engine_parts" not in metafunc.fixturenames:
        return
    always = THEIR_PARTS if mark.kwargs.get("theirs") else OWN_PARTS
    named = {"own parts": OWN_PARTS, "parts of Spark and Delta": THEIR_PARTS}
    parts = [
        pytest.param(one, id=name, marks=() if one == always else (pytest.mark.long,))
        for name, one in named.items()
    ]
    metafunc.parametrize("engine_parts", parts, indirect=True)


@pytest.fixture
def engine_parts(request: pytest.FixtureRequest) -> EngineParts:
    parts: EngineParts = getattr(request, "param", OWN_PARTS)
    return parts


@pytest.fixture
def new_driver(site: RunningSite, engine_parts: EngineParts) -> Iterator[NewDriver]:
    made: list[IngestDriver] = []

    def make(
        name: str, bucket: Bucket | None = None, refine: RefineSpec | None = None
    ) -> IngestDriver:
        if engine_parts != OWN_PARTS:
            name = f"{name}-{engine_parts.writer}"
        site.add_topic(name)
        pipeline = TEMPERATURE.model_copy(update={"name": name, "topics": (name,), "table": name})
        layout = replace(site.layout, bucket=bucket, engine=engine_parts)
        job = plan_ingest(pipeline, [site.spec], layout, refine)
        job = job.model_copy(update={"trigger_s": 0.5})
        ensure_bronze(job.tables.bronze, bucket)
        made.append(IngestDriver(job))
        return made[-1]

    yield make
    for driver in made:
        driver.clean_up()


def _provision_when_up(site: RunningSite) -> None:
    def is_provisioned() -> bool:
        assert site.process
        assert site.process.poll() is None, f"the broker ended:\n{site.log}"
        try:
            site.provision(site.wanted)
        except UnreachableError:
            return False
        return True

    wait_until(is_provisioned, START_TIMEOUT_S)
