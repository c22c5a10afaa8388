"""What one site's trouble costs its neighbours: python -m benchmarks.neighbours [WAITING].

A pipeline of five sites in one job: two are well and send all the time, one loses records that were
not read yet and is halted, one's topic is deleted and made again, one comes back with so many
messages waiting. How fresh the well ones are is measured before, and beside them, in one life of
the job. Runs in the control environment.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, QueryBuilder
from rich.console import Console

from benchmarks.faults.stands.tally import Count
from benchmarks.faults.stands.verified import verify
from benchmarks.stands.measure import CommitWatch
from benchmarks.stands.messages import message
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from millrace.lake.io.tables import ensure_bronze
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Acl, Operation, Resource, wanted_for_site
from millrace.repair.core.verify_spec import ContinuityResult
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.sites.core.user_names import INGEST
from millrace.stack.io.brokers.local_broker import prepare_broker
from tests.integration.conftest import TEMPERATURE, RunningSite
from tests.integration.stands.lake.ingest_driver import CHECKOUT, START_TIMEOUT_S, IngestDriver
from tests.support import free_ports, wait_until

WELL = ("well-a", "well-b")
FENCED, ANEW, BEHIND = "fenced", "anew", "behind"
PARTITIONS = 4
RATE = 500
_TRIGGER_S = 1.0
_WARM_S, _USUAL_S, _LONGEST_S = 20.0, 60.0, 1_800.0
# A machine that does much else takes its time.
_ARRIVES_S, _FLUSHES_S = 300.0, 120.0
# To sites that send no more than that: before what happens to them, and after it.
FEW = 10
# Of the later ones, which nobody has read.
GONE = 2
# Points at which the messages of a file are taken to have come.
_PER_FILE = 20
REFINE = RefineSpec(
    format="json",
    columns=(
        Column(name="sensor_id", type="string", path=("sensor_id",), required=True),
        Column(name="value", type="double", path=("temperature",), required=True),
    ),
)


@dataclass(frozen=True)
class Freshness:
    """From the broker's time of a message until silver has it."""

    p50_ms: float
    p99_ms: float
    messages: int


@dataclass(frozen=True)
class Neighbours:
    usual: Freshness
    beside: Freshness
    waiting: int
    behind_for_s: float
    sent: int
    count: Count
    halts: dict[str, str]
    # Which topics the operator heard to be made anew, and what verify says.
    made_anew: tuple[str, ...]
    verified: ContinuityResult


@dataclass
class Feed:
    """So many messages a second to each of the well sites, until it is stopped."""

    producer: Producer
    sent: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Feed:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        if left := self.producer.flush(_FLUSHES_S):
            raise TimeoutError(f"the broker did not take {left} messages of the well sites")

    def _run(self) -> None:
        started, number = time.monotonic(), 0
        while not self._stopped.wait(0.05):
            due = int((time.monotonic() - started) * RATE)
            for number in range(number, due):  # noqa: B020 - goes on where it was
                key, value = message(number, int(time.time() * 1000))
                for topic in WELL:
                    self.producer.produce(topic, value, key, partition=number % PARTITIONS)
                    self.sent += 1
            number = max(number, due)
            self.producer.poll(0)


def measure(site: RunningSite, waiting: int) -> Neighbours:
    for topic in (*WELL, FENCED, ANEW, BEHIND):
        site.add_topic(topic, PARTITIONS if topic in (*WELL, BEHIND) else 1)
    driver = _driver(site)
    watch = CommitWatch(Path(driver.job.tables.silver))
    site.revoke(_right_to_read(BEHIND))
    _fill(site, waiting)
    try:
        with Feed(Producer({**site.settings("app"), "linger.ms": 5})) as feed:
            for topic in (FENCED, ANEW):
                _send_few(site, topic)
            _start(driver)
            wait_until(lambda: _has_read(driver, *WELL, FENCED, ANEW), _ARRIVES_S, "all read")
            usual = _watch(watch, _WARM_S, _USUAL_S)
            began = time.time()
            _make_trouble(site, driver)
            _drain(driver, watch, waiting)
            beside = (began, time.time())
        expected = feed.sent + waiting + 3 * FEW
        _await_rows(driver, expected)
        beat = driver.beat()
        verified = verify(driver.job)
        driver.stop()
    finally:
        driver.clean_up()
    return Neighbours(
        usual=_freshness(watch, *usual),
        beside=_freshness(watch, *beside),
        waiting=waiting,
        behind_for_s=beside[1] - began,
        sent=expected,
        count=_count(driver, expected),
        halts=beat.halts if beat else {},
        made_anew=tuple(one.topic for site in beat.sites for one in site.made_anew) if beat else (),
        verified=verified,
    )


def _driver(site: RunningSite) -> IngestDriver:
    pipeline = TEMPERATURE.model_copy(update={"name": "neighbours", "table": "neighbours"})
    job = plan_ingest(pipeline, [site.spec], site.layout, REFINE)
    (one,) = job.inputs
    inputs = tuple(
        one.model_copy(
            update={"site": name, "topics": (name,), "checkpoint": f"{one.checkpoint}-{name}"}
        )
        for name in (*WELL, FENCED, ANEW, BEHIND)
    )
    ensure_bronze(job.tables.bronze, None)
    return IngestDriver(job.model_copy(update={"inputs": inputs, "trigger_s": _TRIGGER_S}))


def _start(driver: IngestDriver) -> None:
    driver.start()
    wait_until(driver.is_running, START_TIMEOUT_S)


def _watch(watch: CommitWatch, warm_s: float, for_s: float) -> tuple[float, float]:
    begin = time.time() + warm_s
    while time.time() < begin + for_s:
        watch.look()
        time.sleep(0.02)
    return begin, begin + for_s


def _right_to_read(topic: str) -> Acl:
    return Acl(user=INGEST, operation=Operation.READ, resource=Resource.TOPIC, name=topic)


def _send_few(site: RunningSite, topic: str) -> None:
    site.produce("app", topic, [message(n, 0) for n in range(FEW)])


def _make_trouble(site: RunningSite, driver: IngestDriver) -> None:
    """All of it beneath the running job."""
    site.revoke(_right_to_read(FENCED))
    _send_few(site, FENCED)
    wait_until(lambda: (beat := driver.site_beat(FENCED)) and beat.halted, 120, "not allowed")
    admin = AdminClient(dict(site.admin))
    for future in admin.delete_records([TopicPartition(FENCED, 0, FEW + GONE)]).values():
        future.result(60)
    admin.delete_topics([ANEW])[ANEW].result(60)
    wait_until(lambda: ANEW not in admin.list_topics(timeout=10).topics)
    site.add_topic(ANEW, 1)
    _send_few(site, ANEW)
    site.add_topic(FENCED, 1)
    site.add_topic(BEHIND, PARTITIONS)
    # What a person does who has put a site right: it is tried again at once.
    driver.job.inputs[0].secret_file.touch()


def _fill(site: RunningSite, waiting: int) -> None:
    tuned = {"linger.ms": 50, "batch.num.messages": 100_000, "compression.type": "lz4"}
    producer = Producer({**site.settings("app"), **tuned})
    for number in range(waiting):
        key, value = message(number, int(time.time() * 1000))
        while True:
            try:
                producer.produce(BEHIND, value, key, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise RuntimeError("the broker did not take all messages")


def _drain(driver: IngestDriver, watch: CommitWatch, waiting: int) -> None:
    """Until nothing waits any more."""
    deadline = time.monotonic() + _LONGEST_S
    next_look = 0.0
    while time.monotonic() < deadline:
        watch.look()
        if time.monotonic() > next_look:
            next_look = time.monotonic() + 2
            beat = driver.site_beat(BEHIND)
            if beat and sum(part.position for part in beat.partitions) >= waiting:
                return
        time.sleep(0.02)
    raise TimeoutError(f"{waiting} messages were not read within {_LONGEST_S:.0f} s")


def _freshness(watch: CommitWatch, begin: float, end: float) -> Freshness:
    """A file is of one site, and its messages came evenly between its first and its last."""
    found: list[float] = []
    for at, stats in watch.stats:
        first, last = (_moment(stats[bound]["kafka_time"]) for bound in ("minValues", "maxValues"))
        if stats["minValues"]["site"] in WELL and begin <= first and at <= end:
            step = (last - first) / _PER_FILE
            found += [(at - first - step * number) * 1000 for number in range(_PER_FILE + 1)]
    if not found:
        raise TimeoutError("nothing of the well sites came into silver in the time looked at")
    found.sort()
    return Freshness(found[len(found) // 2], found[int(len(found) * 0.99)], len(found))


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _has_read(driver: IngestDriver, *sites: str) -> bool:
    beats = [driver.site_beat(site) for site in sites]
    return all(beat and beat.rows_total >= FEW for beat in beats)


def _await_rows(driver: IngestDriver, expected: int) -> None:
    """What does not come is found missing when all is counted."""
    deadline = time.monotonic() + _ARRIVES_S
    while driver.is_running() and _rows(driver) < expected and time.monotonic() < deadline:
        time.sleep(0.5)


def _rows(driver: IngestDriver) -> int:
    return int(DeltaTable(driver.job.tables.silver).count())


def _count(driver: IngestDriver, expected: int) -> Count:
    """By coordinates: each once in bronze, and once in silver or quarantine."""
    tables = driver.job.tables
    bronze = _coordinates(tables.bronze)
    refined = _coordinates(tables.silver) + _coordinates(tables.quarantine)
    lost = expected - len(set(bronze)) + len(set(bronze) - set(refined))
    doubled = len(bronze) - len(set(bronze)) + len(refined) - len(set(refined))
    return Count(lost=lost, doubled=doubled, disordered=_disordered(tables.bronze))


def _disordered(bronze: str) -> int:
    """Offsets of a partition in a batch that lie before those of an earlier batch."""
    rows = QueryBuilder().register("t", DeltaTable(bronze))
    batches = rows.execute(
        'SELECT topic_id, "partition", ingested_at, min("offset"), max("offset") FROM t'
        ' GROUP BY topic_id, "partition", ingested_at ORDER BY topic_id, "partition", ingested_at'
    )
    spans = [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
    return sum(before[4] > after[3] for before, after in pairwise(spans) if before[:2] == after[:2])


def _coordinates(table: str) -> list[tuple[str, int, int]]:
    rows = QueryBuilder().register("t", DeltaTable(table))
    batches = rows.execute('SELECT topic_id, "partition", "offset" FROM t')
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


@contextmanager
def a_site(home: Path) -> Iterator[RunningSite]:
    for part in (".jars", ".venv", ".venv-lake", "schemas", "infra"):
        (home / part).symlink_to(CHECKOUT / part)
    spec = SiteSpec(
        name="plant-n",
        bootstrap=f"127.0.0.1:{free_ports(3)}",
        local=LocalBroker(memory="512m"),
        direct=True,
    )
    layout = Platform(home)
    site = RunningSite(spec, layout, prepare_broker(spec, layout))
    site.wanted = wanted_for_site(spec, [TEMPERATURE])
    with ExitStack() as stack:
        stack.callback(site.stop)
        site.come_back()
        yield site


def describe(found: Neighbours) -> str:
    return (
        f"two well sites, {RATE} messages/s each, trigger {_TRIGGER_S:.0f} s, broker to silver:"
        f" usual p50 {found.usual.p50_ms:.0f} ms, p99 {found.usual.p99_ms:.0f} ms; beside a halted"
        f" site, one made anew and one with {found.waiting} messages waiting p50"
        f" {found.beside.p50_ms:.0f} ms, p99 {found.beside.p99_ms:.0f} ms for the"
        f" {found.behind_for_s:.0f} s that took; of"
        f" {found.sent} messages {found.count.lost} lost, {found.count.doubled} doubled"
    )


def main(arguments: Sequence[str]) -> int:
    waiting = int(arguments[0]) if arguments else 10_000_000
    with (
        tempfile.TemporaryDirectory(prefix="millrace-neighbours-") as home,
        a_site(Path(home)) as site,
    ):
        found = measure(site, waiting)
    Console().print(describe(found))
    return 0 if found.beside.p99_ms <= 2 * found.usual.p99_ms else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
