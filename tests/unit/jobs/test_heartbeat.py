"""What a job of any kind says of itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.condition import Condition, Observation, diagnose
from millrace.jobs.core.heartbeat import Heartbeat, Phase
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.jobs.core.trend import Trend, follow
from millrace.jobs.io.mailbox import Mailbox
from millrace.pipelines.core.spec import Supervise

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COMMON = {"job": "j", "generation": 1, "fingerprint": "f", "phase": Phase.RUNNING}


class CountBeat(Heartbeat):
    """Of a kind that reads nothing."""

    count: int
    counted_at: datetime

    @property
    def worked_at(self) -> datetime:
        return self.counted_at

    def measures(self, now: datetime) -> dict[str, float]:
        return {"counted": float(self.count), "age_s": self.age_s(now)}


def counting(now: datetime = NOW) -> CountBeat:
    return CountBeat(**COMMON, at=now, count=3, counted_at=now)


def condition(beat: Heartbeat, now: datetime, trend: Trend | None) -> Condition:
    status = JobStatus(
        state=JobState.RUNNING, since=NOW - timedelta(hours=1), generation=1, fingerprint="f"
    )
    seen = Observation(now=now, status=status, heartbeat=beat, wanted_fingerprint="f", trend=trend)
    return diagnose(seen, Supervise()).condition


def test_what_is_common_is_read_of_any_kind(tmp_path: Path) -> None:
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=0,
        rows_total=0,
        last_batch_at=None,
        reachable=True,
        partitions=(),
    )
    ingest = IngestBeat(**COMMON, at=NOW, sites=(site,))
    for beat in (counting(), ingest):
        Mailbox(tmp_path).write_heartbeat(beat)
        assert Mailbox(tmp_path).read_heartbeat(Heartbeat) == Heartbeat(**COMMON, at=NOW)
        assert Mailbox(tmp_path).read_heartbeat(type(beat)) == beat


def test_a_heartbeat_of_another_kind_is_none_of_this_kind(tmp_path: Path) -> None:
    Mailbox(tmp_path).write_heartbeat(counting())
    assert Mailbox(tmp_path).read_heartbeat(IngestBeat) is None


def test_a_job_that_reads_nothing_is_healthy_while_it_beats_and_never_stuck_or_silent() -> None:
    trend = None
    for second in range(0, 3600, 60):
        now = NOW + timedelta(seconds=second)
        trend = follow(trend, counting(now), now)
        assert condition(counting(now), now, trend) == Condition.HEALTHY
    assert condition(counting(NOW), NOW + timedelta(hours=1), trend) == Condition.STALE


def test_a_job_that_reads_nothing_has_worked_by_its_own_word() -> None:
    status = JobStatus(state=JobState.DEAD, generation=1)
    seen = Observation(now=NOW, status=status, heartbeat=counting(), wanted_fingerprint="f")
    assert seen.has_worked_since(NOW - timedelta(seconds=1))
    assert not seen.has_worked_since(NOW + timedelta(seconds=1))


def test_its_samples_and_measures_are_what_its_kind_says() -> None:
    (sample,) = Journal().sampling(NOW, counting()).samples
    assert (sample.rows_per_s, sample.lag_s, sample.refused) == (0, 0, 0)
    assert counting().measures(NOW) == {"counted": 3.0, "age_s": 0.0}
