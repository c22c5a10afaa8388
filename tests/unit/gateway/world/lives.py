"""What happens to a gateway, its broker, its machine and its folders: a random number decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from millrace.gateway.delivery.core import look_back
from millrace.gateway.delivery.io import courier
from tests.unit.gateway.world.broker import TOPICS, Broker, Chance, Topic
from tests.unit.gateway.world.folder import Folder, Machine
from tests.unit.gateway.world.process import INPUTS, Process, Truth

_MOMENT_S, _LONGEST_PAUSE_S = 1.0, 86_400.0
_DECADES_S = 1_500_000_000
_MOST_CALM = 400


@dataclass
class Backup:
    folders: dict[str, Folder]
    # Of the whole machine, where its memory is put back too: of one moment, after the first link.
    # Before that there is nothing by which a machine could see later that it lives a second time.
    memories: dict[str, bytearray] | None
    boot: bytes


@dataclass
class Life:
    """Events by chance, until all comes to rest."""

    seed: int
    kinds: tuple[str, ...] = ()
    # What happened, for who looks at a life that broke a law.
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = Chance(self.seed)
        self.now_s = 0.0
        self.broker = Broker(self.chance)
        self.truth = Truth()
        self._machines = self._inodes = 0
        # Half of the lives have no neighbour, and take half the time.
        inputs = INPUTS if self.chance.happens(0.5) else INPUTS[:1]
        folders = {name: Folder(self._inode()) for name in inputs}
        self.process = Process(self.chance, self.broker, self.truth, self._machine(), folders)
        # Of copies of the folder that live beside it.
        self.clones: list[Process] = []
        self._backup: Backup | None = None
        self.outages = self.restored = 0
        # Since which incarnation: what has to be in that one, or in a later one.
        self.owed: list[tuple[int, set[bytes]]] = []

    def _machine(self) -> Machine:
        self._machines += 1
        machine = Machine(self._machines)
        machine.now_s = self.now_s
        return machine

    def _inode(self) -> int:
        self._inodes += 1
        return self._inodes

    @property
    def processes(self) -> list[Process]:
        return [self.process, *self.clones]

    @property
    def someone(self) -> Process:
        return (
            self.processes[self.chance.below(len(self.processes))] if self.clones else self.process
        )

    def go(self, steps: int) -> Life:
        events = [*_ALWAYS, *(_OF_SOME[kind] for kind in self.kinds)]
        for _ in range(steps):
            event = events[self.chance.below(len(events))]
            self.happened.append(event.__name__)
            event(self)
            self._pass_time(_MOMENT_S if event in _MOMENTS else self._pause_s())
        self.come_to_rest()
        return self

    def _pause_s(self) -> float:
        """From seconds to a day, each length as likely as ten times that."""
        return float(_LONGEST_PAUSE_S ** self.chance.random())

    def _pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        for one in self.processes:
            one.machine.now_s = self.now_s

    def come_to_rest(self) -> None:
        self.broker.is_up = True
        for topic in self.broker.topics.values():
            topic.refuses = False
        for one in self.processes:
            one.cut()
            for letters in one.letters.values():
                letters.is_full = False
            for _ in range(_MOST_CALM):
                self._pass_time(_MOMENT_S)
                one.work(is_calm=True)
                if one.is_at_rest():
                    break

    # Always.

    def take(self) -> None:
        self.someone.take()

    def work(self) -> None:
        self.someone.work()

    def cut(self) -> None:
        self.outages += 1
        self.someone.cut()

    def kill(self) -> None:
        self.outages += 1
        self.someone.kill()

    def come_and_go(self) -> None:
        self.broker.is_up = self.chance.happens(0.7)
        self.outages += not self.broker.is_up

    def refuse(self) -> None:
        topic = self.broker.topics[TOPICS[self.chance.below(2)]]
        topic.refuses = self.chance.happens(0.4)

    def fill_letters(self) -> None:
        self.process.letters["busy"].is_full = self.chance.happens(0.4)

    def write_by_a_stranger(self) -> None:
        self.broker.write_by_a_stranger()

    # Of some lives.

    def drop(self) -> None:
        self.someone.spools["busy"].drop(1 + self.chance.below(30))

    def make_anew(self) -> None:
        name = TOPICS[self.chance.below(2)]
        if self.chance.happens(0.5):
            for one in self.processes:
                one.cut()
            # Nothing is on its way: what is not known to be done is the next incarnation's.
            left = set[bytes]().union(*(one.left(name.encode()) for one in self.processes))
            self.owed.append((len(self.broker.incarnations), left))
        self._lose_sight_of(self.broker.topics[name])
        self.broker.make_anew(name)

    def _lose_sight_of(self, topic: Topic) -> None:
        for one in self.processes:
            for sender in one.couriers:
                sender.lose_sight_of(topic)

    def forget(self) -> None:
        self.broker.forget(TOPICS[self.chance.below(2)])

    def arrive_late(self) -> None:
        left = self.process.kill()
        for _ in range(self.chance.below(4)):
            self.process.work()
        self.process.arrive_late(left)

    def reboot(self) -> None:
        """Its clock may be wrong by decades afterwards."""
        machine = self.someone.machine
        machine.reboot()
        machine.wrong_s = -_DECADES_S if self.chance.happens(0.3) else 0
        for one in self.processes:
            if one.machine is machine:
                one.kill()

    def restart_devices(self) -> None:
        """They forget what they had not sent, and what they were told."""
        one = self.someone
        one.devices = {name: type(device)() for name, device in one.devices.items()}

    def back_up(self) -> None:
        """While the gateway runs: what says how far it is may be newer than its messages."""
        one, boot = self.process, self.process.machine.boot
        folders = {name: folder.copy(0) for name, folder in one.folders.items()}
        if self.chance.happens(0.3):
            one.take()
            one.work()
            for name, folder in folders.items():
                folder.progress, folder.turn = one.folders[name].progress, one.folders[name].turn
            self._backup = Backup(folders, None, boot)
            return
        is_connected = all(f.progress.ids.keys() == set(TOPICS) for f in folders.values())
        memories = {name: bytearray(memory) for name, memory in one.machine.memories.items()}
        self._backup = Backup(folders, memories if is_connected else None, boot)

    def restore(self) -> None:
        """In place, beside it, on another machine, or with the machine's memory put back too."""
        if self._backup is None:
            return
        one, backup = self.process, self._backup
        one.cut()
        self.restored += 1
        before = {name: spool.next_index for name, spool in one.spools.items()}
        way = self.chance.below(4)
        folders = {
            name: folder.copy(one.folders[name].inode if way else self._inode())
            for name, folder in backup.folders.items()
        }
        if way == 1:
            one.machine = self._machine()
        elif way == 2 and backup.memories and one.machine.boot == backup.boot:
            one.machine.memories = {n: bytearray(m) for n, m in backup.memories.items()}
            for folder in folders.values():
                had = dict.fromkeys(TOPICS, frozenset(folder.had))
                folder.uncompared = had | folder.uncompared
        self._go_on_in(folders)
        for topic in self.broker.incarnations:
            if topic is not self.broker.topics[topic.name]:
                self._lose_sight_of(topic)
        if way in (0, 3):
            for name, spool in one.spools.items():
                assert spool.life.missing in (0, before[name] - spool.next_index)

    def wipe(self) -> None:
        """The folder is gone, and the clock may stand at its beginning."""
        self.process.cut()
        self.restored += 1
        self._go_on_in({name: Folder(self._inode()) for name in self.process.folders})

    def _go_on_in(self, folders: dict[str, Folder]) -> None:
        """What was safe, and is neither here nor at the broker, is gone with the newer folder."""
        one = self.process
        here = {
            record.draft.value for folder in folders.values() for record in folder.records.values()
        }
        there = {
            entry[2] for topic in self.broker.incarnations for log in topic.ever for entry in log
        }
        self.truth.dropped.update(one.left() - here - there)
        for name, folder in folders.items():
            self.truth.returned |= folder.had - one.folders[name].had
            # Nobody knows any more under which names these were sent.
            self.truth.copied |= one.folders[name].named_anew - folder.named_anew
        one.folders = folders
        one.start()

    def clone(self) -> None:
        """The copy goes on alone, or beside the original."""
        one = self.process
        folders = {name: folder.copy(self._inode()) for name, folder in one.folders.items()}
        machine = self._machine()
        if self.chance.happens(0.5) or len(self.clones) > 1:
            one.cut()
            one.machine, one.folders = machine, folders
            one.start()
            return
        self.truth.copied |= one.left()
        self.clones.append(Process(self.chance, self.broker, self.truth, machine, folders))


Event = Callable[[Life], None]
_MOMENTS = {Life.take, Life.work}
_ALWAYS: list[Event] = [
    *[Life.take] * 2, *[Life.work] * 4, Life.cut, Life.kill, Life.come_and_go,
    Life.refuse, Life.fill_letters, Life.write_by_a_stranger,
]  # fmt: skip
_OF_SOME: dict[str, Event] = {
    one.__name__: one
    for one in (
        Life.drop, Life.make_anew, Life.forget, Life.arrive_late, Life.reboot,
        Life.restart_devices, Life.back_up, Life.restore, Life.wipe, Life.clone,
    )
}  # fmt: skip


@contextmanager
def bounds_of(seed: int, *, glances: bool) -> Iterator[None]:
    """In every other life what is allowed ahead is used up, and positions follow, within it."""
    kept = courier.ALLOWED_AHEAD, courier._FOLLOW_EVERY, look_back.GLANCE  # noqa: SLF001
    if seed % 2:
        courier.ALLOWED_AHEAD, courier._FOLLOW_EVERY = 6, 2  # noqa: SLF001
    if not glances:
        look_back.GLANCE = 0
    try:
        yield
    finally:
        courier.ALLOWED_AHEAD, courier._FOLLOW_EVERY, look_back.GLANCE = kept  # noqa: SLF001
