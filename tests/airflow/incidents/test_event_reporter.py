"""What a watch tells of its job, how often, and that telling never harms the watch."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from millrace.deployments.io.keeper import Keeper, utc_now
from millrace.deployments.io.watch import JobWatch
from millrace.incidents.core.event import Event, EventKind, read_event
from millrace.incidents.io.outbox import Outbox
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.io.deployments import read_or_recall, remember
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from tests.airflow.fakes import InMemoryRunner
from tests.airflow.jobs.test_ensure import edit, use_up_the_budget


@pytest.fixture(autouse=True)
def events_site(layout: Platform) -> None:
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text("events_site: plant-a\n")


@pytest.fixture
def counter(layout: Platform) -> Deployment:
    """A job of another kind."""
    (layout.dags / "counters").mkdir()
    text = "name: c\nstep: 1\nrunner: memory\nsupervise: {restarts_per_hour: 0}\n"
    (layout.dags / "counters" / "c.yaml").write_text(text)
    deployment = read_or_recall(layout, "counting", "c")
    remember(layout, deployment)
    return deployment


class Clock:
    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)


def watch(layout: Platform, clock: Clock) -> JobWatch:
    deployment = read_deployment(layout, "temperature")
    remember(layout, deployment)
    ends_at = clock.now + timedelta(hours=12)
    settled = Settings.from_env({"MILLRACE_HOME": str(layout.home)}).layout
    return JobWatch("ingest", "temperature", deployment.digest, ends_at, settled, clock)


def told(layout: Platform) -> list[Event]:
    outbox = Outbox(layout.outbox)
    events = (read_event(outbox.read(one) or "") for one in outbox.ids())
    return [event for event in events if event]


def kinds(layout: Platform) -> list[EventKind]:
    return [event.kind for event in told(layout)]


def test_a_job_of_another_kind_that_is_given_up_is_told_by_its_id(
    layout: Platform, counter: Deployment
) -> None:
    Keeper(counter, layout).ensure()
    InMemoryRunner.die("c", exit_code=1)
    settled = Settings.from_env({"MILLRACE_HOME": str(layout.home)}).layout
    ends_at = utc_now() + timedelta(hours=12)
    ended = JobWatch("counting", "c", counter.digest, ends_at, settled).look()
    assert ended is not None
    assert ended["reason"].startswith("counter c: exit 1; restarts_per_hour is 0")
    assert [(event.kind, event.pipeline) for event in told(layout)] == [(EventKind.GIVEN_UP, "c")]
    note = Mailbox(layout.job("c")).read_journal().latest
    assert note is not None
    assert note.condition == Condition.GIVEN_UP


def test_a_crash_loop_is_told_once_however_often_it_is_looked_at(layout: Platform) -> None:
    clock = Clock()
    eyes = watch(layout, clock)
    eyes.look()
    for _ in range(2):
        InMemoryRunner.die("temperature", exit_code=1)
        for _ in range(5):
            eyes.look()
    assert kinds(layout) == [EventKind.CRASH_LOOPING]


def test_a_job_that_is_given_up_is_told_once_by_whoever_waits_for_it(layout: Platform) -> None:
    use_up_the_budget(layout)
    clock = Clock()
    ended = watch(layout, clock).look()
    assert ended
    assert ended["status"] == "failed"
    for _ in range(3):
        assert watch(layout, clock).may_start() is None
    assert kinds(layout) == [EventKind.GIVEN_UP]
    assert "restarts_per_hour" in told(layout)[0].text
    assert "OutOfMemoryError" not in told(layout)[0].text, "the log is for the page"


def beat(at: datetime, *, reachable: bool = True, halted: str = "") -> IngestBeat:
    part = PartitionLag(topic="temperature-data", partition=0, position=9, end=9)
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=0,
        rows_total=9,
        last_batch_at=at,
        reachable=reachable,
        halted=halted,
        partitions=(part,),
    )
    return IngestBeat(
        job="temperature",
        generation=1,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=at,
        sites=(site,),
    )


@pytest.mark.parametrize(
    ("reachable", "events"),
    [(False, [EventKind.SITE_SILENT]), (True, [])],
    ids=["its broker is away", "it has nothing to say"],
)
def test_a_site_is_told_once_when_its_broker_stays_away(
    layout: Platform, reachable: bool, events: list[EventKind]
) -> None:
    clock = Clock()
    eyes = watch(layout, clock)
    eyes.look()
    for _ in range(10):
        Mailbox(layout.job("temperature")).write_heartbeat(beat(clock.now, reachable=reachable))
        eyes.look()
        clock.later(minutes=1)
    assert kinds(layout) == events


def test_a_halted_site_is_told_once_until_it_went_on(layout: Platform) -> None:
    clock = Clock()
    eyes = watch(layout, clock)
    eyes.look()
    for halted in ("gone", "gone", "gone", "", "gone"):
        Mailbox(layout.job("temperature")).write_heartbeat(beat(clock.now, halted=halted))
        eyes.look()
        clock.later(seconds=10)
    assert kinds(layout) == [EventKind.SITE_HALTED, EventKind.SITE_HALTED]


def test_a_silent_site_is_told_where_the_pipeline_says_how_often_messages_come(
    layout: Platform,
) -> None:
    edit(layout, "restarts_per_hour: 2", "restarts_per_hour: 2, silent_after: 2 minutes")
    test_a_site_is_told_once_when_its_broker_stays_away(layout, True, [EventKind.SITE_SILENT])


def test_an_outbox_that_cannot_be_written_harms_no_look(
    layout: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    layout.var.mkdir(exist_ok=True)
    layout.outbox.write_text("a file where a folder should be")
    use_up_the_budget(layout)
    ended = watch(layout, Clock()).look()
    assert ended
    assert ended["status"] == "failed"
    assert "a platform event is lost" in caplog.text
