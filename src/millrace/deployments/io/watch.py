"""One supervisor's shift over one job, a look at a time; knows nothing of Airflow."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from millrace.base.errors import MillraceError, TransientError
from millrace.deployments.io.keeper import BudgetUsedUpError, Clock, Keeper, KeeperOutcome, utc_now
from millrace.incidents.io.event_reporter import EventReporter
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.patrol import SIGN_EVERY
from millrace.jobs.core.supervision import Action, Decision
from millrace.jobs.core.trend import Trend
from millrace.jobs.io.deployments import read_or_recall, recall
from millrace.jobs.io.installed_kinds import load_kind
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.storage.io.files import mtime_ns

log = logging.getLogger(__name__)

_SUMMARY_EVERY = timedelta(minutes=5)
_WELL = {Condition.HEALTHY, Condition.STARTING, Condition.ABSENT, Condition.STOPPED}

Event = dict[str, str]
CHANGED: Event = {"status": "changed", "reason": "its files changed; the next run deploys them"}


class JobWatch:
    """Keeps a job running until its files change, its shift ends, or it cannot be kept."""

    def __init__(
        self,
        kind: str,
        job_id: str,
        digest: str,
        ends_at: datetime,
        layout: Platform,
        clock: Clock = utc_now,
    ) -> None:
        self.job_id = job_id
        self._digest = digest
        self._ends_at = ends_at
        self._files = SpecFiles(kind, job_id, layout)
        self._layout = layout
        self._clock = clock
        self._next_summary = self._next_sign = clock()
        self._trend: Trend | None = None
        # The journal is supervision's own, and so on this machine wherever the job is.
        self._mailbox = Mailbox(layout.job(job_id))
        self._journal = self._mailbox.read_journal()
        self._reporter = EventReporter(job_id, layout)

    def look(self) -> Event | None:
        """None while all is as it should be; otherwise what ends this shift."""
        self._give_sign()
        return _said_plainly(self._supervise)

    def may_start(self) -> Event | None:
        """For a job whose budget is used up: an event as soon as it may be tried again."""
        return _said_plainly(self._await_budget)

    def stop(self) -> None:
        log.info("stopping the job; a batch that runs is finished first")
        deployment = recall(self._layout, self.job_id) or self._files.deployment()
        status = self._keeper(deployment).stop()
        log.info("the job is %s: exit_code=%s", status.state, status.exit_code)
        self._write_down(Condition.STOPPED, "a person stopped it", None)

    def _give_sign(self) -> None:
        now = self._clock()
        if now >= self._next_sign:
            self._next_sign = now + SIGN_EVERY
            self._mailbox.write_watched(now)

    def _supervise(self) -> Event | None:
        deployment = self._files.deployment()
        if deployment.digest != self._digest:
            return CHANGED
        if self._clock() >= self._ends_at:
            return {"status": "handover", "reason": "the shift is over"}
        keeper = self._keeper(deployment)
        try:
            outcome = keeper.ensure()
        except BudgetUsedUpError as error:
            self._write_down(Condition.GIVEN_UP, str(error), None)
            raise
        self._trend = keeper.trend
        self._tell_change(outcome.decision, keeper.beat)
        self._reporter.on_trend(keeper.trend, keeper.policy, self._clock())
        self._summarise(keeper, outcome)
        return None

    def _tell_change(self, decision: Decision, beat: Heartbeat | None) -> None:
        """Once for each change, not for each look."""
        before = self._journal.latest
        self._write_down(decision.condition, decision.reason, beat)
        if self._journal.latest != before:
            level = logging.INFO if decision.condition in _WELL else logging.WARNING
            log.log(level, "%s: %s", decision.condition, decision.reason)

    def _write_down(self, condition: Condition, reason: str, beat: Heartbeat | None) -> None:
        now = self._clock()
        before = self._journal
        self._journal = before.noting(now, condition, reason).sampling(now, beat).hearing(beat)
        if self._journal != before:
            # Before it is noted as told: the same event twice is one.
            self._reporter.on_made_anew(before, self._journal)
            self._mailbox.write_journal(self._journal)
            self._reporter.on_change(before, self._journal)

    def _await_budget(self) -> Event | None:
        deployment = self._files.deployment()
        if deployment.digest != self._digest:
            return CHANGED
        _, decision = self._keeper(deployment).look()
        if decision.action == Action.GIVE_UP:
            self._write_down(Condition.GIVEN_UP, decision.reason, None)
            return None
        return {"status": "allowed", "reason": decision.reason}

    def _keeper(self, deployment: Deployment) -> Keeper:
        return Keeper(deployment, self._layout, self._clock, self._trend)

    def _summarise(self, keeper: Keeper, outcome: KeeperOutcome) -> None:
        now = self._clock()
        if now < self._next_summary:
            return
        self._next_summary = now + _SUMMARY_EVERY
        beat = keeper.beat
        if beat is None or beat.generation != outcome.status.generation:
            log.info("generation=%s has not reported yet", outcome.status.generation)
            return
        log.info("%s", describe(beat, outcome, now))


def _said_plainly(step: Callable[[], Event | None]) -> Event | None:
    """What may pass by itself is told and tried again; what will not ends the shift."""
    try:
        return step()
    except TransientError as error:
        log.warning("%s", error)
        return None
    except MillraceError as error:
        return {"status": "failed", "reason": str(error)}


def describe(beat: Heartbeat, outcome: KeeperOutcome, now: datetime) -> str:
    return (
        f"{beat.phase}: generation={beat.generation} pid={outcome.status.pid}"
        f" {beat.progress(now)} heartbeat_age_s={beat.age_s(now):.0f}"
    )


class SpecFiles:
    """Reads what a job is deployed from again only when a file of it was touched."""

    def __init__(self, kind: str, job_id: str, layout: Platform) -> None:
        self._kind = kind
        self._job_id = job_id
        self._layout = layout
        self._stamp: object = None
        self._deployment: Deployment | None = None

    def deployment(self) -> Deployment:
        stamp = self._stamp_now()
        if self._deployment is None or stamp != self._stamp:
            self._deployment = read_or_recall(self._layout, self._kind, self._job_id)
            self._stamp = stamp
        return self._deployment

    def _stamp_now(self) -> list[tuple[str, int]]:
        files = load_kind(self._kind).files(self._layout, self._job_id)
        return sorted((str(file), mtime_ns(file)) for file in files)
