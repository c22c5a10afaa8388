"""What supervision decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.condition import Condition, Observation, backoff
from millrace.jobs.core.heartbeat import PartitionLag, Phase, may_beat
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.jobs.core.supervision import Action, Decision, JobStart, decide
from millrace.jobs.core.trend import Trend, follow
from millrace.pipelines.core.spec import Supervise

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
POLICY = Supervise(
    stale_after=timedelta(seconds=60),
    stuck_after=timedelta(minutes=5),
    silent_after=timedelta(minutes=10),
    restarts_per_hour=2,
)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def site(
    position: int = 10,
    end: int = 10,
    *,
    waits_since: datetime | None = None,
    reachable: bool = True,
    batch_at: datetime | None = None,
    halted: str = "",
) -> SiteBeat:
    part = PartitionLag(
        topic="t", partition=0, position=position, end=end, oldest_waiting=waits_since
    )
    return SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=1,
        rows_total=1,
        last_batch_at=batch_at,
        reachable=reachable,
        halted=halted,
        partitions=(part,),
    )


def beat(
    at: datetime,
    generation: int = 3,
    error: str = "",
    *sites: SiteBeat,
    phase: Phase = Phase.RUNNING,
) -> IngestBeat:
    return IngestBeat(
        job="p",
        generation=generation,
        fingerprint="f",
        phase=phase,
        at=at,
        error=error,
        sites=sites,
    )


def failures(*ago_s: float) -> tuple[JobStart, ...]:
    """The last of them made the generation that is looked at."""
    return tuple(
        JobStart(generation=4 - len(ago_s) + n, at=ago(seconds=s), reason="", failure=True)
        for n, s in enumerate(ago_s)
    )


def trend_of(*sites: SiteBeat, over: timedelta) -> Trend:
    """As if these had been seen one after the other, evenly, the last one now."""
    trend = None
    for number, one in enumerate(sites):
        at = NOW - over + over * number / max(1, len(sites) - 1)
        trend = follow(trend, beat(at, 3, "", one), at)
    assert trend
    return trend


def seen(
    state: JobState,
    *,
    fingerprint: str = "f",
    exit_code: int | None = None,
    since: datetime | None = None,
    heartbeat: IngestBeat | None = None,
    trend: Trend | None = None,
    said: str = "",
) -> Observation:
    status = JobStatus(
        state=state,
        fingerprint=fingerprint,
        generation=3,
        exit_code=exit_code,
        since=since,
        reason=said,
    )
    return Observation(NOW, status, heartbeat, "f", trend)


def running(one: SiteBeat, trend: Trend | None = None) -> Observation:
    return seen(JobState.RUNNING, since=LONG, heartbeat=beat(NOW, 3, "", one), trend=trend)


MINUTES = timedelta(minutes=1)
LONG = ago(hours=5)
WAITING = site(10, 20, waits_since=ago(seconds=5), batch_at=NOW)
LATE = site(10, 20, waits_since=ago(seconds=90), batch_at=NOW)
AWAY = site(10, 20, waits_since=ago(seconds=5), reachable=False, batch_at=NOW)
HALTED = site(10, 20, waits_since=ago(hours=3), batch_at=NOW, halted="records are gone")
HAS_WORKED = beat(NOW, 3, "", site(batch_at=NOW))

TABLE = {
    "never started": (seen(JobState.ABSENT), Condition.ABSENT, Action.START, "first start"),
    "stopped by request": (
        seen(JobState.STOPPED),
        Condition.STOPPED,
        Action.START,
        "it was stopped",
    ),
    "another supervisor's job took over": (
        seen(JobState.STOPPED, exit_code=0, heartbeat=beat(NOW, phase=Phase.FENCED)),
        Condition.FENCED,
        Action.START,
        "does another stack run this pipeline?",
    ),
    "the runner is away": (seen(JobState.UNKNOWN), Condition.UNKNOWN, Action.KEEP, "left alone"),
    "a site is halted, and the others go on": (
        running(HALTED, trend_of(HALTED, HALTED, over=60 * MINUTES)),
        Condition.DEGRADED,
        Action.KEEP,
        "site plant-a halted (10 messages wait, the oldest for 10800 s): records are gone",
    ),
    "stopping": (
        seen(JobState.STOPPING),
        Condition.STOPPING,
        Action.KEEP,
        "finishing its batch",
    ),
    "healthy": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(ago(seconds=59))),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "stale": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(ago(seconds=61))),
        Condition.STALE,
        Action.RESTART,
        "no heartbeat for 61 s",
    ),
    "young, and has not reported yet": (
        seen(JobState.RUNNING, since=ago(seconds=30)),
        Condition.STARTING,
        Action.KEEP,
        "no batch yet",
    ),
    "starts on a busy machine": (
        seen(JobState.RUNNING, since=ago(minutes=4)),
        Condition.STARTING,
        Action.KEEP,
        "no batch yet",
    ),
    "starts for longer than a JVM takes anywhere": (
        seen(JobState.RUNNING, since=ago(minutes=5, seconds=1)),
        Condition.STALE,
        Action.RESTART,
        "no heartbeat for 301 s",
    ),
    "fell silent while it started": (
        seen(
            JobState.RUNNING,
            since=ago(minutes=2),
            heartbeat=beat(ago(seconds=61), phase=Phase.STARTING),
        ),
        Condition.STALE,
        Action.RESTART,
        "no heartbeat for 61 s",
    ),
    "back again, and has a backlog to begin with": (
        seen(
            JobState.RUNNING,
            since=ago(seconds=20),
            heartbeat=beat(NOW, 3, "", site(10, 20, batch_at=ago(minutes=5))),
        ),
        Condition.STARTING,
        Action.KEEP,
        "no batch yet",
    ),
    "back again, and nothing waits": (
        seen(
            JobState.RUNNING,
            since=ago(seconds=20),
            heartbeat=beat(NOW, 3, "", site(batch_at=ago(minutes=5))),
        ),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "old, and never reported": (
        seen(JobState.RUNNING, since=LONG),
        Condition.STALE,
        Action.RESTART,
        "hangs",
    ),
    "reported only by a former generation": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(NOW, generation=2)),
        Condition.STALE,
        Action.RESTART,
        "hangs",
    ),
    "data waits, and nothing moves": (
        running(WAITING, trend_of(WAITING, WAITING, over=6 * MINUTES)),
        Condition.STUCK,
        Action.RESTART,
        "nothing moved for 300 s: plant-a",
    ),
    "data waits, and it moved a while ago": (
        running(WAITING, trend_of(WAITING, WAITING, over=4 * MINUTES)),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "data waits, and each look sees it move": (
        running(WAITING, trend_of(site(5, 20), site(8, 20), WAITING, over=6 * MINUTES)),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "data waits at a broker that is away": (
        running(AWAY, trend_of(AWAY, AWAY, over=6 * MINUTES)),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "far behind and falling back": (
        running(
            LATE,
            trend_of(
                *[site(n, 20, waits_since=ago(seconds=90)) for n in range(8)], over=2 * MINUTES
            ),
        ),
        Condition.LAGGING,
        Action.KEEP,
        "max_lag",
    ),
    "far behind, for less than a minute": (
        running(LATE, trend_of(site(8, 20), LATE, over=MINUTES / 2)),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "nothing came for longer than it should": (
        running(site(), trend_of(site(), site(), over=11 * MINUTES)),
        Condition.INPUT_SILENT,
        Action.KEEP,
        "silent_after: plant-a",
    ),
    "something came": (
        running(site(), trend_of(site(9, 9), site(), over=11 * MINUTES)),
        Condition.HEALTHY,
        Action.KEEP,
        "running",
    ),
    "files changed": (
        seen(JobState.RUNNING, fingerprint="old", since=LONG),
        Condition.OUTDATED,
        Action.REPLACE,
        "its files changed",
    ),
    "killed": (
        seen(JobState.DEAD, exit_code=137),
        Condition.DEAD,
        Action.START,
        "exit 137 (killed",
    ),
    "no room": (
        seen(JobState.DEAD, exit_code=3),
        Condition.DEAD,
        Action.START,
        "raise the pipeline's resources.m",
    ),
    "gone without a code": (seen(JobState.DEAD), Condition.DEAD, Action.START, "ended by a signal"),
    "gone with its runner's word": (
        seen(JobState.DEAD, said="no pod was made"),
        Condition.DEAD,
        Action.START,
        "no pod was made",
    ),
    "died with its runner's word": (
        seen(JobState.DEAD, exit_code=1, said="ExitCode: 1."),
        Condition.DEAD,
        Action.START,
        "exit 1: ExitCode: 1.",
    ),
    "died with a last word": (
        seen(JobState.DEAD, exit_code=1, heartbeat=beat(NOW, error="disk full")),
        Condition.DEAD,
        Action.START,
        "exit 1: disk full",
    ),
}


@pytest.mark.parametrize(("seen", "condition", "action", "reason"), TABLE.values(), ids=TABLE)
def test_a_condition_and_its_reaction(
    seen: Observation, condition: Condition, action: Action, reason: str
) -> None:
    decision = decide(seen, POLICY)
    assert (decision.condition, decision.action) == (condition, action)
    assert reason in decision.reason


def test_every_condition_has_its_case() -> None:
    cases = {condition for _, condition, _, _ in TABLE.values()}
    assert set(Condition) - cases == {Condition.CRASH_LOOP, Condition.GIVEN_UP}


DIED = seen(JobState.DEAD, exit_code=1)
BUDGET = {
    "died again, long after the last": (DIED, failures(1800), Action.START, "exit 1"),
    "died again, at once": (
        DIED,
        failures(1),
        Action.WAIT,
        "start 2 of an hour waits until 12:00:01",
    ),
    "died again, after the pause": (DIED, failures(2), Action.START, "exit 1"),
    "died at once, but it had worked": (
        seen(JobState.DEAD, exit_code=1, heartbeat=HAS_WORKED),
        failures(1),
        Action.START,
        "exit 1",
    ),
    "died at once, and had worked long ago": (
        seen(
            JobState.DEAD,
            exit_code=1,
            heartbeat=beat(NOW, 3, "", site(batch_at=ago(minutes=5))),
        ),
        failures(1),
        Action.WAIT,
        "waits until",
    ),
    "hangs at once": (
        seen(JobState.RUNNING, since=LONG),
        failures(1),
        Action.RESTART,
        "hangs",
    ),
    "budget used up": (DIED, failures(1800, 600), Action.GIVE_UP, "restarts_per_hour: 2"),
    "what was long ago is not counted": (DIED, failures(3660, 600), Action.START, "exit 1"),
    "hangs with the budget used up": (
        seen(JobState.RUNNING, since=LONG),
        failures(1800, 600),
        Action.GIVE_UP,
        "hangs",
    ),
    "stuck with the budget used up": (
        running(WAITING, trend_of(WAITING, WAITING, over=6 * MINUTES)),
        failures(1800, 600),
        Action.KEEP,
        "left to go on by itself",
    ),
    "changed files are a new chance": (
        seen(JobState.DEAD, fingerprint="old", exit_code=1),
        failures(1800, 600),
        Action.START,
        "its files changed since",
    ),
}


@pytest.mark.parametrize(("seen", "starts", "action", "reason"), BUDGET.values(), ids=BUDGET)
def test_a_budget_and_pauses_bound_the_restarts(
    seen: Observation, starts: tuple[JobStart, ...], action: Action, reason: str
) -> None:
    decision = decide(seen, POLICY, starts)
    assert decision.action == action
    assert reason in decision.reason


def test_a_pause_is_a_crash_loop_with_its_next_try() -> None:
    decision = decide(DIED, POLICY, failures(1))
    assert decision.condition == Condition.CRASH_LOOP
    assert decision.retry_at == NOW + timedelta(seconds=1)


def test_pauses_grow_up_to_five_minutes() -> None:
    seconds = [backoff(n).total_seconds() for n in (0, 1, 2, 3, 8, 9, 1000)]
    assert seconds == [0, 2, 4, 8, 256, 300, 300]


def test_a_former_generations_last_word_is_not_repeated() -> None:
    died = seen(JobState.DEAD, exit_code=1, heartbeat=beat(NOW, 2, "disk full"))
    assert "disk full" not in decide(died, POLICY).reason


def test_only_starts_after_a_failure_are_failures() -> None:
    assert decide(seen(JobState.DEAD), POLICY).failure
    assert not decide(seen(JobState.STOPPED), POLICY).failure
    assert not decide(seen(JobState.DEAD, fingerprint="old"), POLICY).failure


def test_the_next_try_is_an_hour_after_the_oldest_that_counts() -> None:
    decision = decide(seen(JobState.DEAD), POLICY, failures(1800, 1200, 600))
    assert decision.retry_at == ago(minutes=20) + timedelta(hours=1)


def test_no_budget_at_all_names_no_next_try() -> None:
    decision: Decision = decide(seen(JobState.DEAD), Supervise(restarts_per_hour=0))
    assert (decision.action, decision.retry_at) == (Action.GIVE_UP, None)


def test_a_trend_forgets_a_former_generation() -> None:
    old = trend_of(WAITING, WAITING, over=6 * MINUTES)
    new = follow(old, beat(NOW, 4, "", WAITING), NOW)
    assert new.stuck(NOW, timedelta(0)) == ()


@pytest.mark.parametrize(
    ("phase", "quiet_s", "beats"),
    [
        (Phase.STARTING, 299, True),
        (Phase.STARTING, 300, False),
        (Phase.RUNNING, 29, True),
        (Phase.RUNNING, 30, False),
        (Phase.STOPPING, 30, False),
    ],
)
def test_a_heartbeat_ends_with_its_main_loop_but_waits_for_a_jvm(
    phase: Phase, quiet_s: float, *, beats: bool
) -> None:
    assert may_beat(phase, timedelta(seconds=quiet_s)) is beats
