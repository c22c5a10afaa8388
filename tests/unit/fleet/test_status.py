"""A pipeline's state: its process by the runner, what it does by its heartbeat."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from millrace.fleet.core.platform_status import (
    AirflowAccess,
    JobLine,
    StackStatus,
    describe_job,
    describe_pipeline,
    describe_relay,
)
from millrace.fleet.text import show
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.kafka.core.coordinates import Part
from millrace.lake.core.columns import ColumnSpec
from millrace.pipelines.core.spec import PipelineSpec
from millrace.relay.core.beat import RelayBeat, SourceBeat
from millrace.relay.core.relay_plan import refused
from millrace.settings.core.engine import Tables
from tests.counting import CountBeat, CounterDeployment, CounterFile

TABLES = Tables(
    bronze="/lake/bronze", silver="s3a://lake/silver", quarantine="s3a://lake/quarantine"
)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PIPELINE = PipelineSpec(
    name="temperature", sites="all", topics=("t",), format="json", table="temperature"
)


def beat(generation: int = 1, age_s: float = 1, phase: Phase = Phase.RUNNING) -> IngestBeat:
    partition = PartitionLag(topic="t", partition=0, position=5, end=12)
    site = SiteBeat(
        site="plant-a",
        batch=3,
        rows_per_s=9.5,
        rows_total=5,
        last_batch_at=NOW - timedelta(seconds=2),
        reachable=True,
        partitions=(partition,),
    )
    return IngestBeat(
        job="temperature",
        generation=generation,
        fingerprint="f",
        phase=phase,
        at=NOW - timedelta(seconds=age_s),
        sites=(site,),
    )


def job(state: JobState, exit_code: int | None = None) -> JobStatus:
    return JobStatus(state=state, generation=1, exit_code=exit_code)


@pytest.mark.parametrize(
    ("seen", "heartbeat", "state"),
    [
        (job(JobState.ABSENT), None, "absent"),
        (job(JobState.RUNNING), None, "starting"),
        (job(JobState.RUNNING), beat(generation=0), "starting"),
        (job(JobState.RUNNING), beat(), "running"),
        (job(JobState.RUNNING), beat(age_s=61), "silent"),
        (job(JobState.STOPPING), beat(), "stopping"),
        (job(JobState.STOPPED), beat(phase=Phase.STOPPED), "stopped"),
        (job(JobState.DEAD, 137), beat(), "dead"),
        (job(JobState.UNKNOWN), beat(), "down"),
    ],
)
def test_state(seen: JobStatus, heartbeat: IngestBeat | None, state: str) -> None:
    described = describe_pipeline(PIPELINE, seen, heartbeat, TABLES, NOW)
    assert described.state == state


def test_a_halted_site_is_named_while_the_others_go_on() -> None:
    whole = beat()
    one = whole.sites[0].model_copy(update={"site": "plant-b", "halted": "records are gone"})
    part = whole.model_copy(update={"sites": (*whole.sites, one)})
    described = describe_pipeline(PIPELINE, job(JobState.RUNNING), part, TABLES, NOW)
    assert described.state == "degraded"
    assert described.note == (
        "site plant-b halted (7 messages wait, the oldest for 0 s): records are gone"
    )
    assert described.rows_per_s == 19.0


def test_only_what_runs_has_a_speed() -> None:
    speeds = [
        describe_pipeline(PIPELINE, job(state), beat(), TABLES, NOW).rows_per_s
        for state in (JobState.RUNNING, JobState.DEAD)
    ]
    assert speeds == [9.5, 0.0]


def test_lag_is_what_the_heartbeat_says() -> None:
    described = describe_pipeline(PIPELINE, job(JobState.RUNNING), beat(), TABLES, NOW)
    assert described.lag_records == 7


def test_a_pipeline_has_the_tables_that_its_columns_make() -> None:
    described = describe_pipeline(PIPELINE, job(JobState.RUNNING), beat(), TABLES, NOW)
    assert described.tables == {"bronze": "file:///lake/bronze"}
    columns = {"n": ColumnSpec(type="bigint", source="$.n")}
    refined = PIPELINE.model_copy(update={"columns": columns})
    described = describe_pipeline(refined, job(JobState.RUNNING), beat(), TABLES, NOW)
    assert described.tables == {
        "bronze": "file:///lake/bronze",
        "silver": "s3a://lake/silver",
        "quarantine": "s3a://lake/quarantine",
    }


def test_a_relay_says_how_it_does_and_a_dead_one_has_no_speed() -> None:
    halt = refused(Part("plant-a", "t", 0), 3, "too large")
    source = SourceBeat(site="plant-a", trouble="no answer", partitions=())
    seen = RelayBeat(
        relay="r", at=NOW, began=NOW, messages_per_s=12.34, sites=(source,), halts=(halt,)
    )
    status = describe_relay(seen, runs=True, now=NOW)
    assert (status.state, status.sites_up, status.sites, status.halted) == ("halted", 0, 1, 1)
    assert status.messages_per_s == 12.3
    assert status.notes[0] == "no answer"
    assert "--accept-loss plant-a/t/0:4" in status.notes[1]
    assert describe_relay(seen, runs=False, now=NOW).messages_per_s == 0
    assert describe_relay(None, runs=True, now=NOW).state == "starting"


def counter(seen: JobStatus, heartbeat: CountBeat | None) -> JobLine:
    deployment = CounterDeployment(file=CounterFile(name="c", step=1))
    return describe_job(deployment, seen, heartbeat, NOW)


def test_a_job_of_another_kind_is_said_with_the_figures_of_its_kind() -> None:
    count = CountBeat(
        job="c",
        generation=1,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=NOW,
        count=42,
        counted_at=NOW,
    )
    line = counter(job(JobState.RUNNING), count)
    assert (line.state, line.worked_at, line.figures) == ("running", NOW, {"count": "42"})
    assert counter(job(JobState.RUNNING), None).state == "starting"
    dead = counter(job(JobState.DEAD, 137), count)
    assert (dead.state, dead.note) == ("dead", "exit 137")
    access = AirflowAccess(url="", user="", password_file=Path("p"))
    whole = StackStatus(
        up=True, store="", airflow=access, sites={}, pipelines={}, processes=(), jobs={"c": line}
    )
    console = Console(record=True, width=160)
    show(whole, console)
    said = console.export_text()
    assert "counting" in said
    assert "count: 42" in said


def test_a_death_is_told_with_its_exit_code() -> None:
    described = describe_pipeline(PIPELINE, job(JobState.DEAD, 137), None, TABLES, NOW)
    assert described.note == "exit 137"
