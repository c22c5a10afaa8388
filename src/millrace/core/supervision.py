"""Supervision decides: given what is seen of a job, what is to be done, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from millrace.core.heartbeat import Heartbeat
from millrace.core.job import JobState, JobStatus
from millrace.core.model import Frozen
from millrace.core.pipeline import Supervise

_HOUR = timedelta(hours=1)
# How a JVM ends that finds no more room (-XX:+ExitOnOutOfMemoryError).
OUT_OF_MEMORY = 3


class Start(Frozen):
    """One start of a job; `failure` when it was needed because the job had died or hung."""

    generation: int
    at: datetime
    reason: str
    failure: bool


class Action(StrEnum):
    KEEP = "keep"  # all is well, or nothing can be done from here
    START = "start"
    RESTART = "restart"  # stop what hangs, then start
    REPLACE = "replace"  # a graceful stop, then a start with the new specification
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Decision:
    action: Action
    reason: str
    failure: bool = False
    retry_at: datetime | None = None  # with GIVE_UP: when the budget allows the next start


@dataclass(frozen=True)
class Observation:
    """What is known of a job at one moment."""

    now: datetime
    status: JobStatus
    heartbeat: Heartbeat | None
    wanted_fingerprint: str
    starts: tuple[Start, ...] = ()


def decide(seen: Observation, policy: Supervise) -> Decision:
    """The whole of supervision, free of clocks and engines."""
    if seen.status.state == JobState.UNKNOWN:
        return Decision(Action.KEEP, "the process manager does not answer; the job is left alone")
    if seen.status.state == JobState.STOPPING:
        return Decision(Action.KEEP, "the job is finishing its batch")
    if seen.status.state == JobState.RUNNING:
        return _decide_running(seen, policy)
    if seen.status.state == JobState.DEAD:
        return _decide_dead(seen, policy)
    cause = "first start" if seen.status.state == JobState.ABSENT else "it was stopped"
    return Decision(Action.START, cause)


def _decide_running(seen: Observation, policy: Supervise) -> Decision:
    if seen.status.fingerprint != seen.wanted_fingerprint:
        return Decision(Action.REPLACE, "its files changed")
    silent_s = _silent_s(seen)
    if silent_s > policy.stale_after.total_seconds():
        return _within_budget(
            seen, policy, Action.RESTART, f"no heartbeat for {silent_s:.0f} s, the process hangs"
        )
    return Decision(Action.KEEP, "running")


def _decide_dead(seen: Observation, policy: Supervise) -> Decision:
    death = describe_death(seen)
    if seen.status.fingerprint != seen.wanted_fingerprint:
        # Changed files may well hold the cure, so this start is not one of the budget's.
        return Decision(Action.START, f"{death}; its files changed since")
    return _within_budget(seen, policy, Action.START, death)


def _silent_s(seen: Observation) -> float:
    """Time since the last sign of life; the start of the process counts as one."""
    signs = [seen.status.since] if seen.status.since else []
    if seen.heartbeat and seen.heartbeat.generation == seen.status.generation:
        signs.append(seen.heartbeat.at)
    return (seen.now - max(signs)).total_seconds() if signs else 0.0


def describe_death(seen: Observation) -> str:
    code = seen.status.exit_code
    text = "ended by a signal (kill -9?)" if code is None else f"exit {code}{_meaning(code)}"
    beat = seen.heartbeat
    if beat and beat.error and beat.generation == seen.status.generation:
        text += f": {beat.error}"
    return text


def _meaning(code: int) -> str:
    meanings = {
        OUT_OF_MEMORY: " (out of memory; raise the pipeline's resources.memory)",
        137: " (killed; out of memory?)",
        143: " (terminated)",
        134: " (aborted)",
    }
    return meanings.get(code, "")


def _within_budget(seen: Observation, policy: Supervise, action: Action, reason: str) -> Decision:
    recent = [s for s in seen.starts if s.failure and seen.now - s.at < _HOUR]
    if len(recent) < policy.restarts_per_hour:
        return Decision(action, reason, failure=True)
    if not recent:
        return Decision(Action.GIVE_UP, f"{reason}; restarts_per_hour is 0", failure=True)
    free_at = recent[-policy.restarts_per_hour].at + _HOUR
    budget = (
        f"it was started again {len(recent)} times within the last hour"
        f" (restarts_per_hour: {policy.restarts_per_hour}),"
        f" the next try is at {free_at:%H:%M:%S} UTC"
    )
    return Decision(Action.GIVE_UP, f"{reason}; {budget}", failure=True, retry_at=free_at)
