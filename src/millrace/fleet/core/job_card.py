"""What the Fleet page shows of a job of any kind: common to all, and what its kind adds."""

from __future__ import annotations

from datetime import datetime

from millrace.base.model import Frozen
from millrace.jobs.core.condition import Condition, describe_halts
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.journal import Journal, Note, Sample
from millrace.pipelines.core.spec import Supervise

# A job that rests says nothing, and need not.
AT_REST = {
    Condition.ABSENT,
    Condition.STOPPED,
    Condition.DEAD,
    Condition.CRASH_LOOP,
    Condition.GIVEN_UP,
}


class JobCard(Frozen):
    """One line of the page. `figures` are its kind's."""

    name: str
    kind: str
    dag_id: str
    state: str
    reason: str
    since: datetime | None
    runner: str
    generation: int | None
    lag_records: int
    behind_s: float
    worked_at: datetime | None
    figures: dict[str, str]
    history: tuple[Sample, ...]


class JobPage(Frozen):
    card: JobCard
    # The newest first.
    events: tuple[Note, ...]


def make_job_card(
    deployment: Deployment, dag_id: str, beat: Heartbeat | None, journal: Journal, now: datetime
) -> JobCard:
    note = journal.latest
    state, reason = judge(deployment.supervise, beat, note, now)
    return JobCard(
        name=deployment.id,
        kind=deployment.kind,
        dag_id=dag_id,
        state=state,
        reason=reason,
        since=note.at if note else None,
        runner=deployment.runner,
        generation=beat.generation if beat else None,
        lag_records=beat.lag_records if beat else 0,
        behind_s=round(beat.lag_s(now), 1) if beat else 0.0,
        worked_at=beat.worked_at if beat else None,
        figures=beat.figures() if beat else {},
        history=journal.samples,
    )


def make_job_page(card: JobCard, journal: Journal) -> JobPage:
    return JobPage(card=card, events=newest_notes(journal))


def newest_notes(journal: Journal) -> tuple[Note, ...]:
    return tuple(reversed(journal.notes[-50:]))


def judge(
    policy: Supervise, beat: Heartbeat | None, note: Note | None, now: datetime
) -> tuple[str, str]:
    """Supervision's word, unless job and supervision have both fallen silent since."""
    if note is None:
        return Condition.ABSENT, "never started"
    if note.condition in AT_REST:
        return note.condition, note.reason
    silent_s = beat.age_s(now) if beat else (now - note.at).total_seconds()
    if silent_s > policy.stale_after.total_seconds():
        text = f"no word for {silent_s:.0f} s, neither of the job nor of its supervision"
        return Condition.UNKNOWN, text
    if note.condition is Condition.DEGRADED and beat and beat.halts:
        # The note is of the first site that was halted.
        return note.condition, describe_halts(beat)
    return note.condition, note.reason
