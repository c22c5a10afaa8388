"""A job's folder: what it was started with, how it does, and when it was started."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from millrace.core.heartbeat import Heartbeat
from millrace.core.job import JobSpec
from millrace.core.journal import Journal
from millrace.core.supervision import Start
from millrace.state.files import read_text, write_atomic

_STARTS = TypeAdapter(tuple[Start, ...])
_STARTS_KEPT = 100


class Mailbox:
    """One reader and writer of a job's state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def job_file(self) -> Path:
        return self.folder / "job.json"

    def write_job(self, job: JobSpec) -> None:
        write_atomic(self.job_file, job.model_dump_json(indent=2))

    def read_job(self) -> JobSpec | None:
        """What was started last; None also for a file of an older version of Millrace."""
        text = read_text(self.job_file)
        try:
            return JobSpec.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def write_heartbeat(self, beat: Heartbeat) -> None:
        write_atomic(self.folder / "heartbeat.json", beat.model_dump_json())

    def read_heartbeat(self) -> Heartbeat | None:
        text = read_text(self.folder / "heartbeat.json")
        try:
            return Heartbeat.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def read_starts(self) -> tuple[Start, ...]:
        text = read_text(self.folder / "starts.json")
        return _STARTS.validate_json(text) if text else ()

    def add_start(self, generation: int, at: datetime, reason: str, *, failure: bool) -> None:
        start = Start(generation=generation, at=at, reason=reason, failure=failure)
        kept = (*self.read_starts(), start)[-_STARTS_KEPT:]
        write_atomic(self.folder / "starts.json", _STARTS.dump_json(kept).decode())

    def write_watched(self, at: datetime) -> None:
        """A sign of whoever watches the job."""
        write_atomic(self.folder / "watched", at.isoformat())

    def watched_at(self) -> datetime | None:
        text = read_text(self.folder / "watched")
        return datetime.fromisoformat(text) if text else None

    def write_journal(self, journal: Journal) -> None:
        write_atomic(self.folder / "journal.json", journal.model_dump_json())

    def read_journal(self) -> Journal:
        text = read_text(self.folder / "journal.json")
        try:
            return Journal.model_validate_json(text) if text else Journal()
        except ValidationError:
            return Journal()
