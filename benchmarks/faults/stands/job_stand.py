"""Devices, a gateway, a site's broker and a job from it to silver, whose topic is made anew."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from benchmarks.faults.old_logs import await_deleted, messages_in
from benchmarks.faults.operator import TOKEN
from benchmarks.faults.stands.fault import Fault
from benchmarks.faults.stands.hearing import Hearing
from benchmarks.faults.stands.load import Load
from benchmarks.faults.stands.tally import Numbered
from millrace.gateway.client.io.device import Address, device_tls
from millrace.incidents.core.event import EventKind
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from millrace.lake.io.tables import ensure_bronze
from millrace.pipelines.core.spec import Supervise
from millrace.platform.core.platform import Platform
from millrace.stack.io.brokers.local_broker import prepare_broker
from tests.integration.conftest import TEMPERATURE, RunningSite
from tests.integration.stands.edge.gateways import LINES, RunningGateway
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import wait_until

PARTITIONS = 3
REFINE = RefineSpec(
    format="json",
    columns=(
        Column(name="id", type="string", path=("id",), required=True),
        Column(name="n", type="bigint", path=("n",), required=True),
    ),
)


@dataclass
class JobStand:
    name: str
    site: RunningSite
    gateway: RunningGateway
    load: Load
    driver: IngestDriver
    hearing: Hearing
    # What topics had that are gone, as their files say.
    in_the_old: Numbered = field(default_factory=set)
    made_anew: int = 0
    restarts: int = 0
    notes: list[str] = field(default_factory=list)
    _gone: list[Path] = field(default_factory=list)

    @property
    def _data(self) -> Path:
        return self.site.layout.broker(self.site.spec.name) / "data"

    def pass_s(self, duration_s: float) -> None:
        """The load goes on, and the fault too."""
        time.sleep(duration_s)

    def look(self) -> dict[str, Any]:
        """What the gateway says of itself."""
        with self.gateway.http(TOKEN, self.gateway.port + 1) as client:
            found: dict[str, Any] = client.get("/status").json()
            return found

    @property
    def waits_in_gateway(self) -> int:
        (gateway_input,) = self.look()["inputs"]
        return int(gateway_input["waiting"])

    @property
    def waits_at_broker(self) -> int | None:
        """None before the job's first heartbeat."""
        self.keep_job()
        beat = self.driver.beat()
        return sum(site.lag_records for site in beat.sites) if beat else None

    def start_job(self) -> None:
        self.driver.start()
        wait_until(self.driver.is_running, START_TIMEOUT_S, "the job running")

    def has_read(self) -> bool:
        return self.driver.checkpoint.last_commit() >= 0

    def keep_job(self) -> None:
        """What supervision does with a job that ended."""
        process = self.driver.process
        if process is not None and process.poll() is not None:
            self.restarts += 1
            if self.restarts > Supervise().restarts_per_hour:
                raise AssertionError(f"the job ended {self.restarts} times: {self.driver.beat()}")
            self.driver.start()

    def reads_again(self) -> bool:
        """The job has told of each topic that was made anew, and has records of the newest."""
        self.keep_job()
        beat = self.driver.beat()
        read = sum(part.position for site in beat.sites for part in site.partitions) if beat else 0
        return self.hearing.told()[EventKind.TOPIC_ANEW] >= self.made_anew and read > 0

    def make_topic_anew(self) -> None:
        admin = AdminClient(dict(self.site.admin))
        admin.delete_topics([self.name])[self.name].result(15)
        wait_until(lambda: self.name not in admin.list_topics(timeout=10).topics)
        folders = await_deleted(self._data, self.name, PARTITIONS, self._gone)
        self._gone += folders
        self._keep_old(folders)
        self.site.add_topic(self.name, PARTITIONS)
        self.made_anew += 1

    def reinstall_site(self) -> None:
        """Of the broker, which does not run, nothing is left but its place and its passwords."""
        self._keep_old([self._data / f"{self.name}-{number}" for number in range(PARTITIONS)])
        shutil.rmtree(self._data)
        prepare_broker(self.site.spec, self.site.layout)
        self.site.come_back()
        self.site.add_topic(self.name, PARTITIONS)
        self.made_anew += 1

    def _keep_old(self, folders: list[Path]) -> None:
        self.in_the_old |= messages_in(self.site.layout, folders)


@contextmanager
def job_stand(site: RunningSite, asked: Fault) -> Iterator[JobStand]:
    with ExitStack() as stack:
        site.add_topic(asked.name, PARTITIONS)
        gateway = start_gateway(stack, site, asked)
        driver = driver_of(site, site.layout, asked.name)
        stack.callback(driver.clean_up)
        hearing = Hearing(driver)
        stand = JobStand(asked.name, site, gateway, load_of(site, gateway), driver, hearing)
        stand.start_job()
        hearing.start()
        stack.callback(hearing.end)
        yield stand


def start_gateway(stack: ExitStack, site: RunningSite, asked: Fault) -> RunningGateway:
    folder = site.layout.home / "gateways" / asked.name
    folder.mkdir(parents=True)
    token = folder / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    one = {**LINES, "topic": asked.name, **asked.settings}
    gateway = RunningGateway(site, folder, [one], {"status": {"token": str(token)}})
    gateway.start()
    stack.callback(lambda: gateway.stop(signal.SIGKILL))
    return gateway


def load_of(site: RunningSite, gateway: RunningGateway) -> Load:
    tls = device_tls(str(site.layout.ca), str(gateway.device))
    return Load(Address("127.0.0.1", gateway.port, tls))


def driver_of(site: RunningSite, layout: Platform, name: str) -> IngestDriver:
    """All that the job keeps is where `layout` says."""
    pipeline = TEMPERATURE.model_copy(update={"name": name, "topics": (name,), "table": name})
    job = plan_ingest(pipeline, [site.spec], layout, REFINE)
    ensure_bronze(job.tables.bronze)
    return IngestDriver(job.model_copy(update={"trigger_s": 0.5}))
