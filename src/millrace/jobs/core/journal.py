"""What supervision writes down of a job, for those who look later."""

from __future__ import annotations

from datetime import datetime, timedelta

from millrace.base.model import Frozen
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.heartbeat import Heartbeat, MadeAnew

_SAMPLE_EVERY = timedelta(minutes=1)
_SAMPLES, _NOTES = 60, 200


class Note(Frozen):
    """From when a job was in a condition."""

    at: datetime
    condition: Condition
    reason: str


class Sample(Frozen):
    at: datetime
    rows_per_s: float
    lag_s: float
    refused: int


class Journal(Frozen):
    """Oldest first."""

    notes: tuple[Note, ...] = ()
    samples: tuple[Sample, ...] = ()
    # By site: what its job told of.
    made_anew: tuple[tuple[str, MadeAnew], ...] = ()

    @property
    def latest(self) -> Note | None:
        return self.notes[-1] if self.notes else None

    def noting(self, at: datetime, condition: Condition, reason: str) -> Journal:
        """Once for each change, not for each look."""
        if self.latest and self.latest.condition == condition:
            return self
        note = Note(at=at, condition=condition, reason=reason)
        return self.model_copy(update={"notes": (*self.notes, note)[-_NOTES:]})

    def hearing(self, beat: Heartbeat | None) -> Journal:
        """What the job found to be made anew, each once."""
        heard = beat.made_anew if beat else ()
        new = [one for one in heard if one not in self.made_anew]
        if not new:
            return self
        return self.model_copy(update={"made_anew": (*self.made_anew, *new)[-_NOTES:]})

    def sampling(self, at: datetime, beat: Heartbeat | None) -> Journal:
        if beat is None or (self.samples and at - self.samples[-1].at < _SAMPLE_EVERY):
            return self
        sample = Sample(
            at=at, rows_per_s=beat.rows_per_s, lag_s=beat.lag_s(at), refused=beat.refused
        )
        return self.model_copy(update={"samples": (*self.samples, sample)[-_SAMPLES:]})
