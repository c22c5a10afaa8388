"""A diagnosis: how a job is, by its process, its heartbeat and how these went on; and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from millrace.jobs.core.heartbeat import START_PATIENCE, Heartbeat, InputBeat, Phase
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.jobs.core.trend import Trend
from millrace.pipelines.core.spec import Supervise

# How a JVM ends that finds no more room (-XX:+ExitOnOutOfMemoryError).
OUT_OF_MEMORY = 3


class Condition(StrEnum):
    ABSENT = "absent"  # never started
    STARTING = "starting"
    HEALTHY = "healthy"
    LAGGING = "lagging"  # too far behind, and falling back further
    DEGRADED = "degraded"  # a site waits for a person, the others go on
    INPUT_SILENT = "input silent"  # longer without a message than the pipeline expects
    STUCK = "stuck"  # data waits, and nothing moves
    STALE = "stale"  # the process is there, and says nothing
    OUTDATED = "outdated"  # runs other files than there are now
    STOPPING = "stopping"
    STOPPED = "stopped"
    FENCED = "fenced"  # another supervisor started a newer generation
    DEAD = "dead"
    CRASH_LOOP = "crash loop"  # dies before its first batch, again and again
    GIVEN_UP = "given up"  # died more often than it may be started again
    UNKNOWN = "out of sight"  # the runner does not answer


@dataclass(frozen=True)
class Observation:
    """What is known of a job at one moment."""

    now: datetime
    status: JobStatus
    heartbeat: Heartbeat | None
    wanted_fingerprint: str
    trend: Trend | None = None

    @property
    def own_beat(self) -> Heartbeat | None:
        """A former generation's heartbeat says nothing of this job."""
        beat = self.heartbeat
        return beat if beat and beat.generation == self.status.generation else None

    @property
    def is_outdated(self) -> bool:
        return self.status.fingerprint != self.wanted_fingerprint

    def has_worked_since(self, start: datetime | None) -> bool:
        """It finished a piece of work of its own."""
        last = self.own_beat.worked_at if self.own_beat else None
        return start is not None and last is not None and last >= start


@dataclass(frozen=True)
class Finding:
    condition: Condition
    reason: str


def diagnose(seen: Observation, policy: Supervise) -> Finding:
    match seen.status.state:
        case JobState.UNKNOWN:
            text = "its runner does not answer; the job is left alone"
            return Finding(Condition.UNKNOWN, text)
        case JobState.STOPPING:
            return Finding(Condition.STOPPING, "the job is finishing its batch")
        case JobState.RUNNING:
            return _of_running(seen, policy)
        case JobState.DEAD:
            return Finding(Condition.DEAD, describe_death(seen))
        case JobState.ABSENT:
            return Finding(Condition.ABSENT, "first start")
    if seen.own_beat and seen.own_beat.phase == Phase.FENCED:
        text = "a newer generation took over; does another stack run this pipeline?"
        return Finding(Condition.FENCED, text)
    return Finding(Condition.STOPPED, "it was stopped")


def _of_running(seen: Observation, policy: Supervise) -> Finding:
    if seen.is_outdated:
        return Finding(Condition.OUTDATED, "its files changed")
    silent_s = _silent_s(seen)
    if silent_s > _patience(seen, policy).total_seconds():
        text = f"no heartbeat for {silent_s:.0f} s, the process hangs"
        return Finding(Condition.STALE, text)
    well = Finding(Condition.HEALTHY, "running")
    if _is_starting(seen):
        well = Finding(Condition.STARTING, "no batch yet")
    return next(_complaints(seen, policy), well)


def _is_starting(seen: Observation) -> bool:
    """Until its first batch, where there is something to read."""
    beat, since = seen.own_beat, seen.status.since
    if beat is None or beat.phase == Phase.STARTING:
        return True
    return bool(beat.lag_records) and since is not None and not seen.has_worked_since(since)


def _complaints(seen: Observation, policy: Supervise) -> Iterator[Finding]:
    """The worst first."""
    beat, trend = seen.own_beat, seen.trend
    if beat is None or trend is None:
        return
    stuck = trend.stuck(seen.now, policy.stuck_after)
    if stuck:
        span_s = policy.stuck_after.total_seconds()
        text = f"data waits, and nothing moved for {span_s:.0f} s: {', '.join(stuck)}"
        yield Finding(Condition.STUCK, text)
    if beat.halts:
        yield Finding(Condition.DEGRADED, describe_halts(beat))
    lag_s = beat.lag_s(seen.now)
    if lag_s > policy.max_lag.total_seconds() and trend.is_rising(lag_s):
        text = f"the oldest message waits {lag_s:.0f} s and more each minute; max_lag is exceeded"
        yield Finding(Condition.LAGGING, text)
    silent = trend.silent(seen.now, policy.silent_after) if policy.silent_after else ()
    if silent:
        text = f"no message came for longer than silent_after: {', '.join(silent)}"
        yield Finding(Condition.INPUT_SILENT, text)


def describe_halts(beat: Heartbeat) -> str:
    """Each halted site with its reason, and what waits there: the job's lag leaves it out."""
    return "; ".join(
        f"site {one.name} halted{_what_waits(one, beat.at)}: {one.halted}"
        for one in beat.inputs
        if one.halted
    )


def _what_waits(one: InputBeat, now: datetime) -> str:
    if not one.lag_records:
        return ""
    return f" ({one.lag_records} messages wait, the oldest for {one.lag_s(now):.0f} s)"


def _patience(seen: Observation, policy: Supervise) -> timedelta:
    """A start that is cut short begins anew, and the machine is busier than before."""
    if seen.own_beat is None:
        return max(policy.stale_after, START_PATIENCE)
    return policy.stale_after


def _silent_s(seen: Observation) -> float:
    """Time since the last sign of life; the start of the process counts as one."""
    signs = [seen.status.since] if seen.status.since else []
    if seen.own_beat:
        signs.append(seen.own_beat.at)
    return (seen.now - max(signs)).total_seconds() if signs else 0.0


def describe_death(seen: Observation) -> str:
    """The job's own last word says most; else its runner's."""
    status, beat = seen.status, seen.own_beat
    word = (beat.error if beat else "") or status.reason
    if status.exit_code is not None:
        how = f"exit {status.exit_code}{_meaning(status.exit_code)}"
    else:
        how = "" if status.reason else "ended by a signal (kill -9?)"
    return ": ".join(part for part in (how, word) if part)


def _meaning(code: int) -> str:
    meanings = {
        OUT_OF_MEMORY: " (out of memory; raise the pipeline's resources.memory)",
        137: " (killed; out of memory?)",
        143: " (terminated)",
        134: " (aborted)",
    }
    return meanings.get(code, "")


def backoff(failures: int, longest: timedelta = timedelta(minutes=5)) -> timedelta:
    """Before the next start of a job that dies before its first batch: none, 2 s, 4 s, 8 s ..."""
    if not failures:
        return timedelta(0)
    return min(timedelta(seconds=2 ** min(failures, 20)), longest)
