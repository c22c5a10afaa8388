"""Keeps a job as its files want it: look, decide, act, and say why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from millrace.base.errors import JobFailedError
from millrace.jobs.core.condition import Observation
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.spec import JobSpec, JobStatus, Runner
from millrace.jobs.core.supervision import Action, Decision, decide
from millrace.jobs.core.trend import Trend, follow
from millrace.jobs.io.installed_kinds import load_kind
from millrace.jobs.io.load_runner import load_runner
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform

log = logging.getLogger(__name__)

# A batch is finished, never torn: a graceful stop may take as long as the slowest batch.
STOP_TIMEOUT_S = 120.0
_LOG_LINES = 30

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class BudgetUsedUpError(JobFailedError):
    """The job died more often than `supervise.restarts_per_hour` allows."""


@dataclass(frozen=True)
class KeeperOutcome:
    """What was done for a job, and how it stands now."""

    decision: Decision
    status: JobStatus

    @property
    def verb(self) -> str:
        verbs = {Action.KEEP: "adopted", Action.START: "started", Action.WAIT: "left waiting"}
        return verbs.get(self.decision.action, "replaced")

    def as_xcom(self) -> dict[str, str | int | None]:
        return {
            "what": self.verb,
            "why": self.decision.reason,
            "generation": self.status.generation,
            "pid": self.status.pid,
        }


class Keeper:
    """Looks after the job of one deployment."""

    def __init__(
        self,
        deployment: Deployment,
        layout: Platform,
        clock: Clock = utc_now,
        trend: Trend | None = None,
    ) -> None:
        self.id = deployment.id
        self.policy = deployment.supervise
        self._job: JobSpec = deployment.job(layout)
        self.mailbox = Mailbox(self._job.mailbox, layout.bucket)
        self._runner: Runner = load_runner(deployment.runner, layout)
        self._form = load_kind(deployment.kind).beat
        self._clock = clock
        # What the looks before this one saw; without them nothing is stuck or rising.
        self.trend = trend
        # The last look's.
        self.beat: Heartbeat | None = None

    def look(self) -> tuple[JobStatus, Decision]:
        now, status = self._clock(), self._runner.status(self.id)
        beat = self.beat = self.mailbox.read_heartbeat(self._form)
        self.trend = follow(self.trend, beat, now) if beat else None
        seen = Observation(
            now=now,
            status=status,
            heartbeat=beat,
            wanted_fingerprint=self._job.fingerprint,
            trend=self.trend,
        )
        return status, decide(seen, self.policy, self.mailbox.read_starts())

    def ensure(self) -> KeeperOutcome:
        status, decision = self.look()
        if decision.action in (Action.KEEP, Action.WAIT):
            return KeeperOutcome(decision, status)
        if decision.failure:
            self._tell_failure(decision.reason)
        if decision.action == Action.GIVE_UP:
            raise BudgetUsedUpError(self._farewell(decision.reason))
        if decision.action in (Action.RESTART, Action.REPLACE):
            log.info("stopping generation %s: %s", status.generation, decision.reason)
            self.stop()
        return KeeperOutcome(decision, self._start(decision))

    def stop(self) -> JobStatus:
        return self._runner.stop(self.id, STOP_TIMEOUT_S)

    def _start(self, decision: Decision) -> JobStatus:
        status = self._runner.start(self._job.model_copy(update={"reason": decision.reason}))
        if self._is_new(status):
            self.mailbox.add_start(
                status.generation, self._clock(), decision.reason, failure=decision.failure
            )
            log.info(
                "started: generation=%s pid=%s: %s", status.generation, status.pid, decision.reason
            )
        return status

    def _is_new(self, status: JobStatus) -> bool:
        """False when another start came first: its job is ours, and counted already."""
        return all(start.generation != status.generation for start in self.mailbox.read_starts())

    def _tell_failure(self, reason: str) -> None:
        log.error("the job of %s failed: %s", self._what, reason)
        for line in self._runner.log_tail(self.id, _LOG_LINES):
            log.error("its log: %s", line)

    @property
    def _what(self) -> str:
        return f"{self._job.noun} {self.id}"

    def _farewell(self, reason: str) -> str:
        tail = "\n".join(self._runner.log_tail(self.id, 10))
        return f"{self._what}: {reason}\nThe last lines of its log:\n{tail}"
