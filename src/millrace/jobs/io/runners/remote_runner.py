"""What all runners on other machines share: one run for each generation, and no second."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from millrace.base.errors import GenerationTakenError, RunnerUnreachableError, TransientError
from millrace.jobs.core.remote_jobs import RunNames, spec_name
from millrace.jobs.core.spec import JobSpec, JobState, JobStatus
from millrace.jobs.io import generations
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.storage.io.objects import Objects, objects_at

_LIVE = (JobState.RUNNING, JobState.STOPPING)
# Beyond the time that a job was given; the service kills it, and tells so a little later.
_KILL_WAIT_S = 60.0
_SPECS_KEPT = 100


@dataclass(frozen=True)
class Run:
    """`name` is what the service calls it."""

    generation: int
    name: str


class Service(Protocol):
    """What runs the jobs. Raises RunnerUnreachableError for what may pass by itself."""

    def submit(self, job: JobSpec) -> str:
        """The run's name. Asked again for the same generation, it is the same run."""

    def find_live(self, names: RunNames) -> Run | None:
        """The newest that has not ended, whoever started it."""

    def look(self, run: str) -> JobStatus: ...

    def end(self, run: str, timeout_s: float) -> None:
        """Ask it to finish its batch; after the timeout it is killed. Does not wait."""

    def log_tail(self, run: str, lines: int) -> list[str]: ...


class RemoteRunner:
    """The runner over any such service."""

    poll_s = 2.0

    def __init__(self, layout: Platform, service: Service) -> None:
        self._layout = layout
        self._service = service

    def start(self, job: JobSpec) -> JobStatus:
        # In this order: a start that overtakes this one shows in what is read later.
        claimed = generations.latest(job.generations_dir, self._layout.bucket)
        noted = self._mailbox(job.id).read_job(JobSpec)
        if noted and (status := self._look(noted)).state in _LIVE:
            return status
        found = self._adopt(job.id, job)
        return found or self._submit(job, noted.generation if noted else 0, claimed)

    def status(self, job_id: str) -> JobStatus:
        known: dict[str, object] = {}
        try:
            job = self._mailbox(job_id).read_job(JobSpec)
            if job is None:
                return JobStatus(state=JobState.ABSENT)
            known = {"generation": job.generation, "fingerprint": job.fingerprint}
            return self._service.look(job.run).model_copy(update=known)
        except TransientError:
            return JobStatus(state=JobState.UNKNOWN).model_copy(update=known)

    def stop(self, job_id: str, timeout_s: float) -> JobStatus:
        deadline = time.monotonic() + timeout_s + _KILL_WAIT_S
        try:
            live = self._service.find_live(self._names(job_id))
            if live:
                self._adopt(job_id)
                self._service.end(live.name, timeout_s)
                self._await_end(live.name, deadline)
        except TransientError:
            return JobStatus(state=JobState.UNKNOWN)
        return self.status(job_id)

    def log_tail(self, job_id: str, lines: int) -> list[str]:
        """Nothing while the service is away: a log is told with what else is known."""
        try:
            job = self._mailbox(job_id).read_job(JobSpec)
            return self._service.log_tail(job.run, lines) if job else []
        except TransientError:
            return []

    def _look(self, job: JobSpec) -> JobStatus:
        status = self._service.look(job.run)
        if status.state == JobState.UNKNOWN:
            raise RunnerUnreachableError(f"nobody knows whether run {job.run} has ended; wait")
        known = {"generation": job.generation, "fingerprint": job.fingerprint}
        return status.model_copy(update=known)

    def _adopt(self, job_id: str, wanted: JobSpec | None = None) -> JobStatus | None:
        """A run whose start nobody wrote down: whoever asked for it was gone before the answer."""
        live = self._service.find_live(self._names(job_id))
        if live is None:
            return None
        spec = self._read_spec(job_id, live.generation)
        if spec is None and wanted:
            # Its mailbox was emptied. No file has this fingerprint, so it is replaced.
            spec = wanted.model_copy(update={"generation": live.generation, "fingerprint": ""})
        return self._note(spec, live.name) if spec else None

    def _submit(self, job: JobSpec, noted: int, claimed: int) -> JobStatus:
        spec = self._settle(job, noted, claimed)
        try:
            run = self._service.submit(spec)
        except GenerationTakenError:
            # Its run has ended, unseen, and the settings have changed since.
            spec = self._write_spec(job, spec.generation + 1)
            run = self._service.submit(spec)
        return self._note(spec, run)

    def _settle(self, job: JobSpec, noted: int, claimed: int) -> JobSpec:
        """What is written of a generation holds for all who start it, at once or one after another.

        One that was written and never noted comes first: its start may have arrived.
        """
        names = self._files(job.id).names("generations")
        written = [int(name.removesuffix(".json")) for name in names]
        open_starts = [number for number in written if number > noted]
        return self._write_spec(job, max(open_starts, default=max(claimed, noted) + 1))

    def _write_spec(self, job: JobSpec, generation: int) -> JobSpec:
        spec = job.model_copy(update={"generation": generation})
        is_ours = self._files(job.id).put_new(spec_name(generation), spec.model_dump_json(indent=2))
        return spec if is_ours else self._read_spec(job.id, generation) or spec

    def _read_spec(self, job_id: str, generation: int) -> JobSpec | None:
        text = self._files(job_id).read(spec_name(generation))
        return JobSpec.model_validate_json(text) if text else None

    def _note(self, spec: JobSpec, run: str) -> JobStatus:
        mailbox = self._mailbox(spec.id)
        newest = mailbox.read_job(JobSpec)
        if newest is None or newest.generation <= spec.generation:
            mailbox.write_job(spec.model_copy(update={"run": run}))
            self._files(spec.id).delete([spec_name(spec.generation - _SPECS_KEPT)])
        return self.status(spec.id)

    def _await_end(self, run: str, deadline: float) -> None:
        while self._service.look(run).state in _LIVE and time.monotonic() < deadline:
            time.sleep(self.poll_s)

    def _names(self, job_id: str) -> RunNames:
        return RunNames(job_id, self._layout.generations(job_id))

    def _mailbox(self, job_id: str) -> Mailbox:
        return Mailbox(self._layout.shared_mailbox(job_id), self._layout.bucket)

    def _files(self, job_id: str) -> Objects:
        return objects_at(self._layout.shared_mailbox(job_id), self._layout.bucket)
