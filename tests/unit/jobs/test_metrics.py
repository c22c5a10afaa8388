"""What a job tells of itself to whoever raises alarms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from millrace.base.errors import TransientError
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.io.aws_metrics import put_measures
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.settings.core.metrics import Metrics
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from tests.support import wait_until

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SETTINGS = Metrics(region="eu-central-1")


def beat(waits_s: float | None, batch_s: float | None) -> IngestBeat:
    """A message that waits for so long, and a last batch so long ago."""
    oldest = None if waits_s is None else NOW - timedelta(seconds=waits_s)
    part = PartitionLag(
        topic="t", partition=0, position=7, end=7 if oldest is None else 9, oldest_waiting=oldest
    )
    last = None if batch_s is None else NOW - timedelta(seconds=batch_s)
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=1,
        rows_total=7,
        last_batch_at=last,
        reachable=True,
        partitions=(part,),
    )
    return IngestBeat(
        job="heat", generation=1, fingerprint="f", phase=Phase.RUNNING, at=NOW, sites=(site,)
    )


@pytest.mark.parametrize(
    ("waits_s", "batch_s", "told"),
    [
        (30, 90, {"lag_s": 30, "batch_age_s": 90, "halted_sites": 0}),
        (30, None, {"lag_s": 30, "batch_age_s": 0, "halted_sites": 0}),
        (None, 90, {"lag_s": 0, "batch_age_s": 0, "halted_sites": 0}),
    ],
    ids=["behind", "before its first batch", "nothing sent for a while"],
)
def test_a_batch_is_old_only_while_something_waits(waits_s, batch_s, told) -> None:
    assert beat(waits_s, batch_s).measures(NOW) == told


def test_a_halted_site_is_told_by_itself() -> None:
    """Its messages wait for a person, and would hide that another site falls behind."""
    fresh, behind = beat(2, 1), beat(9_000, 9_000)
    halted = behind.sites[0].model_copy(update={"halted": "records are gone"})
    both = fresh.model_copy(update={"sites": (*fresh.sites, halted)})
    assert both.measures(NOW) == {"lag_s": 2, "batch_age_s": 1, "halted_sites": 1}


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.mark.usefixtures("_keys")
@mock_aws
def test_a_measure_is_found_by_its_pipeline() -> None:
    now = datetime.now(UTC)
    put_measures(SETTINGS, "pipeline", "heat", now, {"lag_s": 30.0})
    assert _maximum("lag_s", now) == 30


@pytest.mark.usefixtures("_keys")
@mock_aws
def test_a_job_tells_while_it_goes_on_and_no_longer(tmp_path: Path) -> None:
    now_s = 0.0
    heartbeats = HeartbeatWriter(
        _job(tmp_path), lambda common: common, clock_s=lambda: now_s, metrics_every_s=0.02
    )
    heartbeats.say(Phase.RUNNING)
    heartbeats.start()
    try:
        wait_until(lambda: _count() > 1)
        now_s = 1_000.0
        wait_until(_is_silent)
    finally:
        heartbeats.stop()


def test_a_region_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="region"):
        Metrics(region="europe")


def test_a_service_that_is_away_may_be_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(TransientError, match="cloudwatch:PutMetricData"):
        put_measures(Metrics(region="eu-north-1"), "pipeline", "heat", NOW, {"lag_s": 1.0})


def _maximum(name: str, now: datetime) -> float:
    found = boto3.client("cloudwatch", region_name="eu-central-1").get_metric_statistics(
        Namespace="Millrace",
        MetricName=name,
        Dimensions=[{"Name": "pipeline", "Value": "heat"}],
        StartTime=now - timedelta(minutes=1),
        EndTime=now + timedelta(minutes=1),
        Period=60,
        Statistics=["Maximum"],
    )
    return float(max(point["Maximum"] for point in found["Datapoints"]))


def _count() -> float:
    now = datetime.now(UTC)
    found = boto3.client("cloudwatch", region_name="eu-central-1").get_metric_statistics(
        Namespace="Millrace",
        MetricName="lag_s",
        Dimensions=[{"Name": "pipeline", "Value": "heat"}],
        StartTime=now - timedelta(minutes=5),
        EndTime=now + timedelta(minutes=1),
        Period=600,
        Statistics=["SampleCount"],
    )
    return sum(point["SampleCount"] for point in found["Datapoints"])


def _is_silent() -> bool:
    """Nothing came in ten times the pause between two."""
    before = _count()
    deadline = datetime.now(UTC) + timedelta(seconds=0.2)
    wait_until(lambda: datetime.now(UTC) > deadline)
    return _count() == before


def _job(folder: Path) -> IngestSpec:
    return IngestSpec(
        id="heat",
        entry_point="spark_jobs.ingest.ingest",
        inputs=(),
        tables=Tables(bronze="b", silver="s", quarantine="q"),
        trigger_s=1,
        rows_per_batch=1,
        bytes_per_batch=1,
        mailbox=str(folder),
        generations_dir=str(folder),
        engine=EngineSpec(memory="64m", class_path=()),
        metrics=SETTINGS,
    )
