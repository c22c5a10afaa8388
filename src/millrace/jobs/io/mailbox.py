"""A job's mailbox: what it was started with, how it does, and when it was started."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.spec import JobSpec
from millrace.jobs.core.supervision import JobStart
from millrace.platform.core.platform import Platform
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.objects import objects_at

Spec = TypeVar("Spec", bound=JobSpec)
Beat = TypeVar("Beat", bound=Heartbeat)

_STARTS = TypeAdapter(tuple[JobStart, ...])
_STARTS_KEPT = 100
_JOB = "job.json"


class Mailbox:
    """One reader and writer of a job's state: a folder, or a part of a bucket."""

    def __init__(self, place: str | Path, bucket: Bucket | None = None) -> None:
        self._place = place
        self._files = objects_at(place, bucket)

    @property
    def job_file(self) -> str:
        return f"{self._place}/{_JOB}"

    def write_job(self, job: JobSpec) -> None:
        self._files.put(_JOB, job.model_dump_json(indent=2))

    def read_job(self, form: type[Spec]) -> Spec | None:
        """What was started last; None also for a file of an older version of Millrace."""
        text = self._files.read(_JOB)
        try:
            return form.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def write_heartbeat(self, beat: Heartbeat) -> None:
        self._files.put("heartbeat.json", beat.model_dump_json())

    def read_heartbeat(self, form: type[Beat]) -> Beat | None:
        """The newest, as the class of its kind, or as what is common to all."""
        text = self._files.read("heartbeat.json")
        try:
            return form.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def read_starts(self) -> tuple[JobStart, ...]:
        text = self._files.read("starts.json")
        return _STARTS.validate_json(text) if text else ()

    def add_start(self, generation: int, at: datetime, reason: str, *, failure: bool) -> None:
        start = JobStart(generation=generation, at=at, reason=reason, failure=failure)
        kept = (*self.read_starts(), start)[-_STARTS_KEPT:]
        self._files.put("starts.json", _STARTS.dump_json(kept).decode())

    def write_watched(self, at: datetime) -> None:
        """A sign of whoever watches the job."""
        self._files.put("watched", at.isoformat())

    def watched_at(self) -> datetime | None:
        text = self._files.read("watched")
        return datetime.fromisoformat(text) if text else None

    def write_journal(self, journal: Journal) -> None:
        self._files.put("journal.json", journal.model_dump_json())

    def read_journal(self) -> Journal:
        text = self._files.read("journal.json")
        try:
            return Journal.model_validate_json(text) if text else Journal()
        except ValidationError:
            return Journal()


def open_mailbox(layout: Platform, job_id: str, *, is_remote: bool) -> Mailbox:
    """Where a job and those who watch it talk; `is_remote`: its runner is on other machines."""
    return Mailbox(layout.mailbox(job_id, is_remote=is_remote), layout.bucket)
