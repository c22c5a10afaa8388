"""A job: what a runner is asked to start, and what it says of it afterwards."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from millrace.base.model import Frozen
from millrace.base.names import Name
from millrace.platform.core.platform import Platform
from millrace.settings.core.engine import EngineSpec
from millrace.settings.core.metrics import Metrics


class SiteLogin(Frozen):
    """A user of a site's cluster, whose secret the job needs where it runs."""

    user: str
    site: str


class JobSpec(BaseModel):
    """What a job of any kind needs to be started, found, fenced and stopped.

    Each kind adds its own fields. Whoever reads a specification as this class keeps them and hands
    them on, so no runner has to know a kind. Holds no secret, so it may be shown anywhere.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    # Unlike that of every other job, whatever its kind: folders, programs and runs bear it.
    id: Name
    kind: str
    # What people call a job of this kind: in tags, and as the dimension of its measures.
    noun: str
    entry_point: str
    generation: int = 0
    fingerprint: str = ""
    reason: str = ""
    # What its runner calls it; empty where the job's id is enough.
    run: str = ""
    logins: tuple[SiteLogin, ...] = ()
    # A folder, or a part of a bucket where the job runs elsewhere.
    mailbox: str
    generations_dir: str
    engine: EngineSpec
    # None: nobody but supervision asks how it does.
    metrics: Metrics | None = None


def fingerprint(*parts: BaseModel) -> str:
    text = "".join(part.model_dump_json() for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan_engine(memory: str, layout: Platform) -> EngineSpec:
    return EngineSpec(
        memory=memory,
        class_path=(layout.jars("spark"), layout.jars("jvm")),
        bucket=layout.bucket,
        cluster=layout.cluster,
        parts=layout.engine,
    )


class JobState(StrEnum):
    """What a runner sees of a job's process."""

    ABSENT = "absent"  # never started here
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"  # ended because it was asked to
    DEAD = "dead"  # ended by itself
    UNKNOWN = "unknown"  # the runner itself cannot be asked


class JobStatus(Frozen):
    """A runner's answer about one job."""

    state: JobState
    pid: int | None = None
    since: datetime | None = None
    exit_code: int | None = None
    generation: int = 0
    fingerprint: str = ""
    # Why it ended, where no exit code says it.
    reason: str = ""


class Runner(Protocol):
    """Starts, finds, stops and reads the log of jobs. One file for each place they can run."""

    def start(self, job: JobSpec) -> JobStatus:
        """Start the job as the next generation, or return what already runs."""

    def status(self, job_id: str) -> JobStatus: ...

    def stop(self, job_id: str, timeout_s: float) -> JobStatus:
        """Ask the job to finish its batch and end; after the timeout it is killed."""

    def log_tail(self, job_id: str, lines: int) -> list[str]: ...
