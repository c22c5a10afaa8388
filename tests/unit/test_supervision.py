"""What supervision decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.core.heartbeat import Heartbeat, Phase
from millrace.core.job import JobState, JobStatus
from millrace.core.pipeline import Supervise
from millrace.core.supervision import Action, Observation, Start, decide

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
POLICY = Supervise(stale_after=timedelta(seconds=60), restarts_per_hour=2)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def beat(at: datetime, generation: int = 3, error: str = "") -> Heartbeat:
    return Heartbeat(
        pipeline="p",
        generation=generation,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=at,
        error=error,
    )


def failures(*minutes_ago: float) -> tuple[Start, ...]:
    return tuple(
        Start(generation=n, at=ago(minutes=m), reason="", failure=True)
        for n, m in enumerate(minutes_ago)
    )


def seen(
    state: JobState,
    *,
    fingerprint: str = "f",
    exit_code: int | None = None,
    since: datetime | None = None,
    heartbeat: Heartbeat | None = None,
    starts: tuple[Start, ...] = (),
) -> Observation:
    status = JobStatus(
        state=state, fingerprint=fingerprint, generation=3, exit_code=exit_code, since=since
    )
    return Observation(NOW, status, heartbeat, "f", starts)


LONG = ago(hours=5)

TABLE = {
    "never started": (seen(JobState.ABSENT), Action.START, "first start"),
    "stopped by request": (seen(JobState.STOPPED), Action.START, "it was stopped"),
    "the runner is away": (seen(JobState.UNKNOWN), Action.KEEP, "left alone"),
    "stopping": (seen(JobState.STOPPING), Action.KEEP, "finishing its batch"),
    "healthy": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(ago(seconds=59))),
        Action.KEEP,
        "running",
    ),
    "silent": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(ago(seconds=61))),
        Action.RESTART,
        "no heartbeat for 61 s",
    ),
    "young, and has not reported yet": (
        seen(JobState.RUNNING, since=ago(seconds=30)),
        Action.KEEP,
        "running",
    ),
    "old, and never reported": (seen(JobState.RUNNING, since=LONG), Action.RESTART, "hangs"),
    "reported only by a former generation": (
        seen(JobState.RUNNING, since=LONG, heartbeat=beat(NOW, generation=2)),
        Action.RESTART,
        "hangs",
    ),
    "files changed": (
        seen(JobState.RUNNING, fingerprint="old", since=LONG),
        Action.REPLACE,
        "its files changed",
    ),
    "killed": (seen(JobState.DEAD, exit_code=137), Action.START, "exit 137 (killed"),
    "no room": (seen(JobState.DEAD, exit_code=3), Action.START, "raise the pipeline's resources.m"),
    "gone without a code": (seen(JobState.DEAD), Action.START, "ended by a signal"),
    "died with a last word": (
        seen(JobState.DEAD, exit_code=1, heartbeat=beat(NOW, error="disk full")),
        Action.START,
        "exit 1: disk full",
    ),
    "a last word of a former generation is not its own": (
        seen(JobState.DEAD, exit_code=1, heartbeat=beat(NOW, 2, "disk full")),
        Action.START,
        "exit 1",
    ),
    "within the budget": (
        seen(JobState.DEAD, exit_code=1, starts=failures(30)),
        Action.START,
        "exit 1",
    ),
    "budget used up": (
        seen(JobState.DEAD, exit_code=1, starts=failures(30, 10)),
        Action.GIVE_UP,
        "restarts_per_hour: 2",
    ),
    "what was long ago is not counted": (
        seen(JobState.DEAD, exit_code=1, starts=failures(61, 10)),
        Action.START,
        "exit 1",
    ),
    "silent with the budget used up": (
        seen(JobState.RUNNING, since=LONG, starts=failures(30, 10)),
        Action.GIVE_UP,
        "hangs",
    ),
    "changed files are a new chance": (
        seen(JobState.DEAD, fingerprint="old", exit_code=1, starts=failures(30, 10)),
        Action.START,
        "its files changed since",
    ),
}


@pytest.mark.parametrize(("observation", "action", "reason"), TABLE.values(), ids=TABLE)
def test_decision(observation: Observation, action: Action, reason: str) -> None:
    decision = decide(observation, POLICY)
    assert decision.action == action
    assert reason in decision.reason


def test_a_former_generations_last_word_is_not_repeated() -> None:
    died = seen(JobState.DEAD, exit_code=1, heartbeat=beat(NOW, 2, "disk full"))
    assert "disk full" not in decide(died, POLICY).reason


def test_only_starts_after_a_failure_are_failures() -> None:
    assert decide(seen(JobState.DEAD), POLICY).failure
    assert not decide(seen(JobState.STOPPED), POLICY).failure
    assert not decide(seen(JobState.DEAD, fingerprint="old"), POLICY).failure


def test_the_next_try_is_an_hour_after_the_oldest_that_counts() -> None:
    used_up = seen(JobState.DEAD, starts=failures(30, 20, 10))
    assert decide(used_up, POLICY).retry_at == ago(minutes=20) + timedelta(hours=1)


def test_no_budget_at_all_names_no_next_try() -> None:
    decision = decide(seen(JobState.DEAD), Supervise(restarts_per_hour=0))
    assert (decision.action, decision.retry_at) == (Action.GIVE_UP, None)
