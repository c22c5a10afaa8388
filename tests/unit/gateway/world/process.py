"""A gateway's processes, one after the other on the same folders, and its devices.

The forwarder, couriers, windows, and what a device keeps are the gateway's and the device's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from millrace.gateway.client.core.unanswered import Backlog
from millrace.gateway.delivery.core.window import Window
from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.delivery.io.forwarder import Forwarder
from millrace.gateway.spool.core.ledger import Entry, Unkept
from millrace.gateway.spool.core.message_identity import Found
from millrace.gateway.spool.core.records import Draft
from millrace.kafka.io.client_errors import SiteError
from tests.unit.gateway.world.broker import (
    TOO_LARGE,
    TOPICS,
    Broker,
    Chance,
    Link,
    Request,
    Topic,
    arrive,
)
from tests.unit.gateway.world.folder import Folder, Letters, Machine, Pages, Spool, Store

BUSY, IDLE = INPUTS = ("busy", "idle")
DEVICES = (b"plc", b"pump")


class Truth:
    """What came in, and what has to become of it. A message's value is a number of its own."""

    def __init__(self) -> None:
        self.made = 0
        # What is in some spool, or was until it was delivered; in the order in which it was kept.
        self.kept: dict[bytes, tuple[str, bytes | None]] = {}
        # What is in several spools, and so may be at the broker more than once.
        self.copied: set[bytes] = set()
        # What came back with an older folder, behind newer messages.
        self.returned: set[bytes] = set()
        # What may be missing at the broker: it was dropped, or is gone with a newer folder.
        self.dropped: set[bytes] = set()
        self.letters: set[bytes] = set()
        # What was gone with its topic before a machine that came back with its memory saw it.
        self.unseen: set[bytes] = set()
        # What some device was told is safe.
        self.answered: set[bytes] = set()
        # How many messages were read back for an input for which nothing waits.
        self.in_vain = 0


class Counting(Courier):
    truth: Truth
    folder: Folder
    looked: set[str]

    def find(self, topic: str, messages: Iterable[Found]) -> bool:
        if self.window.base == self.spool.next_index:
            messages = list(messages)
            self.truth.in_vain += len(messages)
        self.looked.add(topic)
        return super().find(topic, messages)

    def lose_sight_of(self, topic: Topic) -> None:
        """Nothing tells any more what another life has sent to it."""
        had = self.folder.uncompared.get(topic.name)
        if had is not None and topic.name not in self.looked:
            sent = topic.values_of(f"plant-m/{self.name}/{topic.name}")
            self.truth.unseen |= sent - had

    def note_compared(self) -> None:
        """From here on a kill takes nothing along of what it has met."""
        if self.folder.renamed or not self._found.is_open:
            for topic in self.looked:
                self.folder.uncompared.pop(topic, None)


class Process:
    """What is killed and begins again, on a machine."""

    def __init__(
        self, chance: Chance, broker: Broker, truth: Truth, machine: Machine,
        folders: dict[str, Folder],
    ) -> None:  # fmt: skip
        self.chance, self.broker, self.truth = chance, broker, truth
        self.machine, self.folders = machine, folders
        # A topic that is in no input's list is looked at when its first message comes.
        topics = TOPICS if chance.happens(0.5) else TOPICS[:1]
        self._topics = dict.fromkeys(folders, topics)
        self.patience_s = (None, 5.0, 3_600.0)[chance.below(3)]
        self.link: Link | None = None
        self.devices = {name: Backlog() for name in DEVICES}
        self.start()

    def start(self) -> None:
        truth, machine = self.truth, self.machine
        self.spools = {
            name: Spool(name, folder, machine, self.chance) for name, folder in self.folders.items()
        }
        for spool in self.spools.values():
            spool.dropped = truth.dropped
        self.letters = {
            name: Letters(folder, truth.letters) for name, folder in self.folders.items()
        }
        self.couriers = [self._courier(name) for name in self.folders]
        self.forwarder = Forwarder(
            self.couriers, self._topics, self.patience_s, lambda: machine.now_s, lambda: False
        )

    def _courier(self, name: str) -> Counting:
        spool, store = self.spools[name], Store(self.folders[name])
        pages = Pages(spool, store.read().within(spool.next_index).base)
        made = Counting("plant-m", name, spool, pages, store, self.letters[name])
        made.truth, made.folder, made.looked = self.truth, self.folders[name], set()
        return made

    # What comes in.

    def draft(self, value: bytes, origin: bytes = b"", number: int = 0) -> Draft:
        """The same for the same value: a device sends again what it sent."""
        made = int(value.lstrip(TOO_LARGE))
        topic = b"" if made % 89 == 0 else b"u" if made % 3 == 0 else b"t"
        return Draft(topic, b"k%d" % (made * 7 % 4), value, origin, number)

    def value(self) -> bytes:
        self.truth.made += 1
        large = TOO_LARGE if self.chance.happens(0.02) else b""
        return b"%s%d" % (large, self.truth.made)

    def take(self) -> None:
        for _ in range(1 + self.chance.below(8)):
            self.device.put(self.value())
        if IDLE not in self.spools or self.chance.happens(0.9):
            self.hear_from(DEVICES[self.chance.below(2)])
        else:
            drafts = [self.draft(self.value()) for _ in range(1 + self.chance.below(3))]
            self._note(IDLE, drafts, self.spools[IDLE].keep(drafts))
            self.truth.answered.update(one.value for one in drafts)

    @property
    def device(self) -> Backlog:
        return self.devices[DEVICES[self.truth.made % 2]]

    def hear_from(self, name: bytes) -> None:
        """A connection: some of what a device has, of which it hears that it is safe, or not."""
        device, spool = self.devices[name], self.spools[BUSY]
        number = spool.last_of(name)
        device.begin_behind(number)
        while values := device.burst(1 + self.chance.below(30)):
            drafts = [self.draft(one, name, number + n) for n, one in enumerate(values, 1)]
            number += len(drafts)
            self._note(BUSY, drafts, spool.keep(drafts))
            if self.chance.happens(0.1):
                # A new connection has sent them too, while they were on their way to the disk.
                self._note(BUSY, drafts, spool.keep(drafts))
            for value in values:
                if self.chance.happens(0.03):
                    return
                device.on_safe()
                self.truth.answered.add(value)

    def _note(self, name: str, drafts: list[Draft], entries: list[Entry]) -> None:
        truth, had = self.truth, self.folders[name].had
        for draft, entry in zip(drafts, entries, strict=True):
            if isinstance(entry, Unkept):
                assert entry is Unkept.KNOWN
                continue
            value = draft.value
            assert value not in had, "kept twice"
            assert value not in truth.answered, "a device sends again what it was told is safe"
            had.add(value)
            if value in truth.kept:
                # An older state came back, of a time before it was kept.
                truth.copied.add(value)
                del truth.kept[value]
            truth.kept[value] = (name, draft.key)

    # What goes out.

    def work(self, *, is_calm: bool = False) -> None:
        """As a delivering thread does, for a moment."""
        try:
            if self.link is None:
                self.link = Link(self.broker, self.chance, is_calm=is_calm)
                self.forwarder.begin(self.link)
            self.forwarder.feed(self.link)
            self.link.poll(0)
        except SiteError:
            self.forwarder.is_broken = True
        if self.forwarder.is_broken or self.forwarder.refusals:
            self.cut()
        if is_calm or self.chance.happens(0.5):
            for courier in self.couriers:
                courier.save()
        for courier in self.couriers:
            courier.note_compared()
            waiting = len(self.folders[courier.name].records)
            assert courier.window.remembered <= 2 * (50 + waiting)

    def cut(self) -> deque[Request]:
        if self.link is None:
            return deque()
        left = self.link.close()
        self.link = None
        self.forwarder.end()
        return left

    def kill(self) -> deque[Request]:
        left = self.cut()
        self.start()
        return left

    def arrive_late(self, requests: deque[Request]) -> None:
        for request in requests:
            arrive(self.broker, request)

    # What is left to do.

    def left(self, topic: bytes | None = None) -> set[bytes]:
        """What is here and not known to be done."""
        return {
            record.draft.value
            for courier in self.couriers
            for record in self.folders[courier.name].records.values()
            if not is_done(courier.window, record.serial) and topic in (None, record.draft.topic)
        }

    def is_at_rest(self) -> bool:
        return all(one.window.base == one.spool.next_index for one in self.couriers)


def is_done(window: Window, serial: int) -> bool:
    done_before = window._ahead  # noqa: SLF001 - what a rewind has put there
    return window.is_done(serial) or any(begin <= serial < end for begin, end in done_before)
