"""What a gateway keeps, in memory: a folder that can be copied, a machine, and who reads them.

The ledger, the life of a spool, its witness and its new names are the gateway's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from millrace.gateway.delivery.core.window import DeliveryProgress
from millrace.gateway.spool.core.ledger import Entry, Heading, MessageLedger
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.clock import Clock
from millrace.gateway.spool.io.life import Life
from millrace.gateway.spool.io.renamed import Epochs, Renamed
from millrace.gateway.spool.io.witness import SEEN_BYTES, Witness
from tests.unit.gateway.world.broker import Chance

_PAGE = 4
# So many messages make a segment.
_SEGMENT = 8
_NEW = Heading(epoch=0)


@dataclass
class Folder:
    """Of one input, as it is on disk."""

    inode: int
    heading: Heading = _NEW
    records: dict[int, Record] = field(default_factory=dict)
    first_index: int = 0
    progress: DeliveryProgress = field(default_factory=DeliveryProgress)
    turn: int = 0
    letters: set[tuple[int, int]] = field(default_factory=set)
    renamed: Epochs = field(default_factory=dict)
    # All that was ever kept in it, or in what it is a copy of; and what is sent under a new name.
    had: set[bytes] = field(default_factory=set)
    named_anew: set[bytes] = field(default_factory=set)
    # Topics with which nothing was compared since it came back with its machine's memory, and what
    # it had until then: what comes later may get names that another life has given.
    uncompared: dict[str, frozenset[bytes]] = field(default_factory=dict)
    is_new: bool = True

    def copy(self, inode: int) -> Folder:
        return replace(
            self,
            inode=inode,
            records=dict(self.records),
            letters=set(self.letters),
            had=set(self.had),
            named_anew=set(self.named_anew),
            uncompared=dict(self.uncompared),
        )


class Machine(Clock):
    """Its memory ends with its boot; a copy of a folder finds nothing of the original in it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._boots = 0
        self.now_s = 0.0
        # By how much its clock is wrong.
        self.wrong_s = 0
        self._booted_s = 0.0
        self.memories: dict[str, bytearray] = {}

    @property
    def boot(self) -> bytes:
        return b"%d-%d" % (self._number, self._boots)

    def reboot(self) -> None:
        self._boots += 1
        self._booted_s = self.now_s
        self.memories.clear()

    def memory(self, name: str) -> bytearray:
        return self.memories.setdefault(name, bytearray(SEEN_BYTES))

    def wall_ms(self) -> int:
        return int((self.now_s + self.wrong_s) * 1000)

    def since_boot_s(self) -> int:
        return int(self.now_s - self._booted_s)


class Spool:
    """Of one process."""

    def __init__(self, name: str, folder: Folder, machine: Machine, chance: Chance) -> None:
        self.folder = folder
        self._ledger = MessageLedger(folder.heading)
        for record in folder.records.values():
            if record.serial >= folder.heading.next_index:
                self._ledger.take_over(record)
        witness = Witness(machine.memory(name), machine.boot, (1, folder.inode))
        renamed = Renamed(folder.renamed, self._keep_renamed)
        self.life = Life(
            name, self._ledger, machine, witness, renamed,
            lambda: chance.below(1 << 31), is_new=folder.is_new,
        )  # fmt: skip
        folder.is_new = False
        self.oldest_s: int | None = None
        self.dropped: set[bytes] = set()
        self._base = 0

    def _keep_renamed(self, epochs: Epochs) -> None:
        self.folder.renamed = epochs

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

    @property
    def renamed_in(self) -> int:
        return self.life.renamed_in

    @property
    def may_be_a_copy(self) -> bool:
        return self.life.is_another

    @property
    def first_index(self) -> int:
        return self.folder.first_index

    @property
    def next_index(self) -> int:
        return self._ledger.next_index

    def next_number(self, topic: bytes) -> int:
        return self._ledger.next_number(topic)

    def last_of(self, origin: bytes) -> int:
        return self._ledger.last_of(origin)

    def has_newer_progress(self, turn: int) -> bool:
        return self.life.has_newer(turn)

    def note_progress(self, turn: int) -> None:
        self.life.note_progress(turn)

    def begin_life(self, first: Record | None = None) -> None:
        self.life.begin_anew(self.next_index, first)
        if first:
            records = self.folder.records.values()
            self.folder.named_anew.update(
                one.draft.value for one in records if one.serial >= first.serial
            )

    def named(self, records: Iterable[Record]) -> list[Record]:
        return self.life.named(records)

    def keep(self, drafts: list[Draft]) -> list[Entry]:
        if self.next_index >= self.folder.heading.next_index + _SEGMENT:
            self.folder.heading = self._ledger.heading()
        self.life.stamp()
        entries = self._ledger.enter(drafts)
        self.folder.records.update({e.serial: e for e in entries if isinstance(e, Record)})
        self.life.note(self.next_index)
        self._ledger.settle()
        return entries

    def drop(self, count: int) -> None:
        """The oldest of what is here, as a full spool does; the newest segment stays."""
        folder = self.folder
        until = min(folder.first_index + count, folder.heading.next_index)
        for serial in range(folder.first_index, until):
            record = folder.records.pop(serial, None)
            if record and serial >= self._base:
                self.dropped.add(record.draft.value)
        folder.first_index = max(folder.first_index, until)

    def trim(self, base: int) -> None:
        self._base = base
        if base - _PAGE > self.folder.first_index:
            self.drop(base - _PAGE - self.folder.first_index)


class Pages:
    def __init__(self, spool: Spool, index: int) -> None:
        self._spool = spool
        self.position = index
        self.damaged_bytes = 0

    def read(self) -> list[Record]:
        spool, records = self._spool, self._spool.folder.records
        begin = max(self.position, spool.first_index)
        end = min(begin + _PAGE, spool.next_index)
        self.position = max(begin, end)
        return spool.named([records[serial] for serial in range(begin, end)])

    def seek(self, index: int) -> None:
        self.position = index

    def close(self) -> None:
        return


class Store:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def turn(self) -> int:
        return self._folder.turn

    def read(self) -> DeliveryProgress:
        return self._folder.progress

    def write(self, progress: DeliveryProgress) -> None:
        self._folder.progress = progress
        self._folder.turn += 1

    def close(self) -> None:
        return


class Letters:
    """What was written before it began is known; as in the file, nothing is written twice."""

    def __init__(self, folder: Folder, values: set[bytes]) -> None:
        self._folder = folder
        self._values = values
        self._known = set(folder.letters)
        self.is_full = False
        self.count = 0
        self.obstacle = ""

    def write(self, letters: list[tuple[Record, str]]) -> bool:
        if self.is_full and letters:
            self.obstacle = "no room"
            return False
        self.obstacle = ""
        for record, _ in letters:
            name = (record.epoch, record.serial)
            assert name not in self._folder.letters, "a dead letter is written twice"
            self._folder.letters.add(name)
            self._values.add(record.draft.value)
        return True

    def are_written(self, record: Record) -> bool:
        return (record.epoch, record.serial) in self._known

    def give_back(self, _: int) -> None:
        return
