"""The life of a spool: whether it is the one that it was, in which epoch, and at what time."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from millrace.gateway.spool.core.ledger import MessageLedger
from millrace.gateway.spool.core.message_identity import new_epoch
from millrace.gateway.spool.core.records import Record
from millrace.gateway.spool.io.clock import Clock
from millrace.gateway.spool.io.renamed import Renamed, renamed_in
from millrace.gateway.spool.io.witness import Witness, witness_of

log = logging.getLogger(__name__)


class Life:
    """Goes on where the witness knows the spool; else another begins, in an epoch of its own."""

    def __init__(
        self,
        name: str,
        ledger: MessageLedger,
        clock: Clock,
        witness: Witness,
        renamed: Renamed,
        chance: Callable[[], int],
        *,
        is_new: bool,
    ) -> None:
        """`chance`: 31 bits that nobody foresees."""
        self._name = name
        self._ledger = ledger
        self._clock = clock
        self._witness = witness
        self._renamed = renamed
        self._chance = chance
        epoch, next_index = ledger.epoch, ledger.next_index
        is_known = not is_new and self._witness.knows(epoch, next_index)
        since_boot_s = clock.since_boot_s()
        # Of the spool's own clock, which stands still while the machine is off.
        self._offset_s = self._witness.offset_s if is_known else ledger.clock_s - since_boot_s
        # By how much the machine's clock was set since the last message, as far as that is seen.
        self.clock_was_set_s = 0 if is_new else self._shift_s(is_known=is_known)
        # Messages that were safe and are not here, as an older state of the folder came back.
        self.missing = 0 if is_new else self._witness.missing(epoch, next_index)
        # Since this start; else it goes on where it was.
        self.is_another = not is_known
        if not is_known:
            self.begin_anew(next_index)
            self._tell(is_new=is_new)

    def now_s(self) -> int:
        """By a clock that nobody sets."""
        return self._clock.since_boot_s() + self._offset_s

    @property
    def renamed_in(self) -> int:
        """The epoch in which messages were named anew last; 0: none ever was."""
        return self._renamed.newest

    def stamp(self) -> None:
        """What is kept from here on comes now."""
        self._ledger.time_ms, self._ledger.clock_s = self._clock.wall_ms(), self.now_s()

    def note(self, next_index: int) -> None:
        """Everything before it is safe."""
        self._witness.note(next_index)

    def has_newer(self, turn: int) -> bool:
        return self._witness.has_newer(turn)

    def note_progress(self, turn: int) -> None:
        self._witness.note_progress(turn)

    def begin_anew(self, next_index: int, first: Record | None = None) -> None:
        """Another life has used the numbers that are to come; those of `first`, and of all that is
        behind it, too."""
        epoch = new_epoch(self._clock.wall_ms() // 1000, self._chance(), self._ledger.epoch)
        if first:
            self._renamed.add(first, epoch)
        self._ledger.epoch = epoch
        self._witness.begin(epoch, self._offset_s, next_index)

    def named(self, records: Iterable[Record]) -> list[Record]:
        """As they are sent: under another name where their own was used by another life."""
        return [self._renamed.apply(one) for one in records] if self._renamed else list(records)

    def close(self) -> None:
        self._witness.close()

    def _shift_s(self, *, is_known: bool) -> int:
        """By how much the machine's clock was set since the last message, as far as is certain:
        how long a machine was off nobody knows, but not for less than no time."""
        passed_s = (self._clock.wall_ms() - self._ledger.time_ms) // 1000
        shift_s = passed_s - (self.now_s() - self._ledger.clock_s)
        return shift_s if is_known else min(0, shift_s)

    def _tell(self, *, is_new: bool) -> None:
        if self.missing:
            log.error(
                "%s: it came back in an older state: %s messages that were safe are not here; those"
                " of them that the broker has not are lost",
                *(self._name, self.missing),
            )
        elif not is_new:
            log.info(
                "%s: this machine has not seen it since it was started, so it may be a copy or an"
                " older state: what comes from now on is named in epoch %s",
                *(self._name, self._ledger.epoch),
            )


def life_of(folder: Path, ledger: MessageLedger, clock: Clock, *, is_new: bool) -> Life:
    witness, renamed = witness_of(folder), renamed_in(folder / "renamed.json")
    chance = partial(secrets.randbits, 31)
    return Life(str(folder), ledger, clock, witness, renamed, chance, is_new=is_new)
