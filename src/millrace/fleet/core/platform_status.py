"""What `millrace status` says: the state of everything, put together from what each part says."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import Field

from millrace.base.model import Frozen
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.jobs.core.condition import Condition, describe_halts
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat, Phase
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.pipelines.core.spec import PipelineSpec, Supervise
from millrace.relay.core.beat import RelayBeat
from millrace.settings.core.engine import Tables

DOWN = "down"
_READING = {JobState.RUNNING, Condition.DEGRADED}


class AirflowAccess(Frozen):
    url: str
    user: str
    password_file: Path


class SiteAccess(Frozen):
    bootstrap: str


class PipelineStatus(Frozen):
    """`lag_*` are of the last heartbeat; None before the first. `refused`: since the job began."""

    state: str
    generation: int
    lag_records: int | None
    lag_s: float | None
    rows_per_s: float
    refused: int
    last_batch_at: datetime | None
    tables: dict[str, str]
    note: str = ""


class JobLine(Frozen):
    """A job of another kind than pipelines'. `figures` are its kind's."""

    kind: str
    state: str
    generation: int
    lag_records: int | None
    lag_s: float | None
    worked_at: datetime | None
    figures: dict[str, str]
    note: str = ""


class RelayStatus(Frozen):
    """`messages`: since its process began. `notes`: what a person should know."""

    state: str
    sites_up: int = 0
    sites: int = 0
    lag_records: int | None = None
    messages: int = 0
    messages_per_s: float = 0.0
    last_commit_at: datetime | None = None
    halted: int = 0
    notes: tuple[str, ...] = ()


class ProcessStatus(Frozen):
    """A program with all its children; memory is their proportional share (PSS)."""

    name: str
    state: str
    pid: int | None = None
    since: datetime | None = None
    memory_mb: float = 0.0
    cpu_percent: float = 0.0
    port: int | None = None


class EndingCertificate(Frozen):
    """A certificate on this machine that ends soon."""

    file: Path
    until: datetime


class StackStatus(Frozen):
    up: bool
    # Where tables and checkpoints are.
    store: str
    airflow: AirflowAccess
    sites: dict[str, SiteAccess]
    pipelines: dict[str, PipelineStatus]
    clusters: dict[str, SiteAccess] = Field(default_factory=dict)
    relays: dict[str, RelayStatus] = Field(default_factory=dict)
    jobs: dict[str, JobLine] = Field(default_factory=dict)
    processes: tuple[ProcessStatus, ...]
    orphans: tuple[int, ...] = ()
    ending: tuple[EndingCertificate, ...] = ()

    @property
    def memory_mb(self) -> float:
        return sum(process.memory_mb for process in self.processes)

    @property
    def cpu_percent(self) -> float:
        return sum(process.cpu_percent for process in self.processes)


def describe_pipeline(
    pipeline: PipelineSpec,
    job: JobStatus,
    beat: IngestBeat | None,
    tables: Tables,
    now: datetime,
) -> PipelineStatus:
    state = _state(pipeline.supervise, job, beat, now)
    return PipelineStatus(
        state=state,
        generation=job.generation,
        lag_records=beat.lag_records if beat else None,
        lag_s=round(beat.lag_s(now), 1) if beat else None,
        rows_per_s=round(beat.rows_per_s, 1) if beat and state in _READING else 0.0,
        refused=beat.refused if beat else 0,
        last_batch_at=beat.worked_at if beat else None,
        tables={layer: _as_uri(one) for layer, one in tables_of(pipeline, tables).items()},
        note=_note(job, beat),
    )


def describe_job(
    deployment: Deployment, job: JobStatus, beat: Heartbeat | None, now: datetime
) -> JobLine:
    return JobLine(
        kind=deployment.kind,
        state=_state(deployment.supervise, job, beat, now),
        generation=job.generation,
        lag_records=beat.lag_records if beat else None,
        lag_s=round(beat.lag_s(now), 1) if beat else None,
        worked_at=beat.worked_at if beat else None,
        figures=beat.figures() if beat else {},
        note=_note(job, beat),
    )


def describe_relay(beat: RelayBeat | None, *, runs: bool, now: datetime) -> RelayStatus:
    if beat is None:
        return RelayStatus(state="starting" if runs else DOWN)
    state = beat.state(now, runs=runs)
    return RelayStatus(
        state=state,
        sites_up=sum(not site.trouble for site in beat.sites),
        sites=len(beat.sites),
        lag_records=beat.lag_records,
        messages=beat.messages,
        messages_per_s=round(beat.messages_per_s, 1) if state not in (DOWN, "silent") else 0.0,
        last_commit_at=beat.last_commit_at,
        halted=len(beat.halts),
        notes=beat.notes(),
    )


def tables_of(pipeline: PipelineSpec, tables: Tables) -> dict[str, str]:
    """Those that the pipeline has, by layer."""
    return dict(tables) if pipeline.columns else {"bronze": tables.bronze}


def _as_uri(table: str) -> str:
    return table if "://" in table else Path(table).as_uri()


def _state(policy: Supervise, job: JobStatus, beat: Heartbeat | None, now: datetime) -> str:
    """The process by the runner, what it does by its heartbeat."""
    if job.state == JobState.UNKNOWN:
        return DOWN
    if job.state != JobState.RUNNING:
        return job.state
    if beat is None or beat.generation != job.generation:
        return "starting"
    silent_s = beat.age_s(now)
    if silent_s > policy.stale_after.total_seconds():
        return "silent"
    return Condition.DEGRADED if beat.halts and beat.phase == Phase.RUNNING else beat.phase


def _note(job: JobStatus, beat: Heartbeat | None) -> str:
    if job.state == JobState.DEAD:
        return "ended by a signal" if job.exit_code is None else f"exit {job.exit_code}"
    if beat is None or beat.generation != job.generation:
        return ""
    return beat.error or describe_halts(beat)
