"""Supervision decides: given how a job is, what is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from millrace.base.model import Frozen
from millrace.jobs.core.condition import Condition, Finding, Observation, backoff, diagnose
from millrace.jobs.core.spec import JobState
from millrace.pipelines.core.spec import Supervise

_HOUR = timedelta(hours=1)


class JobStart(Frozen):
    """One start of a job; `failure` when it was needed because the job had died or hung."""

    generation: int
    at: datetime
    reason: str
    failure: bool


class Action(StrEnum):
    KEEP = "keep"  # all is well, or nothing can be done from here
    WAIT = "wait"  # start it, but not yet
    START = "start"
    RESTART = "restart"  # stop what hangs, then start
    REPLACE = "replace"  # a graceful stop, then a start with the new specification
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Decision:
    action: Action
    condition: Condition
    reason: str
    failure: bool = False
    retry_at: datetime | None = None  # when the next start is allowed


# What each condition asks for. A lag, a halted site and a silent input are told: a restart would
# cure none of them.
_REACTIONS = {
    Condition.UNKNOWN: Action.KEEP,
    Condition.STOPPING: Action.KEEP,
    Condition.STARTING: Action.KEEP,
    Condition.HEALTHY: Action.KEEP,
    Condition.LAGGING: Action.KEEP,
    Condition.DEGRADED: Action.KEEP,
    Condition.INPUT_SILENT: Action.KEEP,
    Condition.OUTDATED: Action.REPLACE,
    Condition.ABSENT: Action.START,
    Condition.STOPPED: Action.START,
    Condition.STALE: Action.RESTART,
    Condition.STUCK: Action.RESTART,
    Condition.DEAD: Action.START,
    Condition.FENCED: Action.START,
}
# What counts against the budget.
_FAILURES = {Condition.STALE, Condition.STUCK, Condition.DEAD, Condition.FENCED}


def decide(seen: Observation, policy: Supervise, starts: tuple[JobStart, ...] = ()) -> Decision:
    """The whole of supervision, free of clocks and engines."""
    found = diagnose(seen, policy)
    action = _REACTIONS[found.condition]
    if found.condition not in _FAILURES:
        return Decision(action, found.condition, found.reason)
    if action == Action.START and seen.is_outdated:
        # Changed files may well hold the cure, so this start is not one of the budget's.
        return Decision(action, found.condition, f"{found.reason}; its files changed since")
    return _within_budget(seen, policy, found, starts)


def _recent_failures(now: datetime, starts: tuple[JobStart, ...]) -> list[JobStart]:
    return [start for start in starts if start.failure and now - start.at < _HOUR]


def _within_budget(
    seen: Observation, policy: Supervise, found: Finding, starts: tuple[JobStart, ...]
) -> Decision:
    recent = _recent_failures(seen.now, starts)
    is_used_up = len(recent) >= policy.restarts_per_hour
    if is_used_up and found.condition == Condition.STUCK:
        # What it waits for, such as an object store, may come back; it goes on by itself then.
        reason = f"{found.reason}; restarts are used up, so it is left to go on by itself"
        return Decision(Action.KEEP, found.condition, reason)
    if not policy.restarts_per_hour:
        reason = f"{found.reason}; restarts_per_hour is 0"
        return Decision(Action.GIVE_UP, found.condition, reason, failure=True)
    if is_used_up:
        return _give_up(policy, found, recent)
    wait_until = _wait_until(seen, starts, recent)
    if wait_until and seen.now < wait_until:
        reason = (
            f"{found.reason}; start {len(recent) + 1} of an hour waits until {_hour(wait_until)}"
        )
        return Decision(
            Action.WAIT, Condition.CRASH_LOOP, reason, failure=True, retry_at=wait_until
        )
    return Decision(_REACTIONS[found.condition], found.condition, found.reason, failure=True)


def _wait_until(
    seen: Observation, starts: tuple[JobStart, ...], recent: list[JobStart]
) -> datetime | None:
    """A job that has worked is needed back at once; so is one that only hangs."""
    began = next((s.at for s in starts if s.generation == seen.status.generation), None)
    if not recent or seen.has_worked_since(began) or seen.status.state == JobState.RUNNING:
        return None
    return recent[-1].at + backoff(len(recent))


def _give_up(policy: Supervise, found: Finding, recent: list[JobStart]) -> Decision:
    free_at = recent[-policy.restarts_per_hour].at + _HOUR
    reason = (
        f"{found.reason}; it was started again {len(recent)} times within the last hour"
        f" (restarts_per_hour: {policy.restarts_per_hour}), the next try is at {_hour(free_at)}"
    )
    return Decision(Action.GIVE_UP, found.condition, reason, failure=True, retry_at=free_at)


def _hour(moment: datetime) -> str:
    return f"{moment:%H:%M:%S} UTC"
