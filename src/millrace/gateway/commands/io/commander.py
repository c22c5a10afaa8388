"""Brings commands to devices and their outcomes to the spool, as the desk decides.

What the desk has decided is on disk before anybody hears of it: that a command was sent before it
leaves, its outcome before the device is told that it need not say it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from millrace.gateway.commands.core.command import Answer, Command, CommandOutcome, read_command
from millrace.gateway.commands.core.command_states import CommandStates, Open, Rules
from millrace.gateway.commands.io.command_feed import Arrived
from millrace.gateway.commands.io.memory_file import MemoryFile
from millrace.gateway.commands.io.present_devices import Devices
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io.committer import Committer, ReceivedBatch
from millrace.gateway.spool.io.spool_files import bytes_of
from millrace.kafka.core.platform_topics import OUTCOMES

log = logging.getLogger(__name__)
_LOOK_EVERY_S = 0.5
Noted = Callable[[], None]


class Carrier(Protocol):
    """A way to devices."""

    def reaches(self, device: str) -> bool: ...

    def carry(self, command: Command) -> bool:
        """False: it is certain that it did not leave."""
        ...


class Commander:
    """Used by the event loop alone."""

    def __init__(
        self,
        file: MemoryFile,
        rules: Rules,
        committer: Committer,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._file = file
        self._committer = committer
        self._clock = clock
        memory = file.read()
        self._states = CommandStates(memory, rules)
        self._most_decided = rules.most_open
        self.positions = memory.positions
        for command_id in (*memory.open, *memory.decided):
            if self._has_outcome(command_id):
                self._states.on_recorded(command_id)
        self.devices = Devices()
        self.carriers: list[Carrier] = [self.devices]
        self._noted: dict[str, list[Noted]] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.failure: BaseException | None = None

    @property
    def open_count(self) -> int:
        return self._states.open_count

    @property
    def is_crowded(self) -> bool:
        """Outcomes wait for room in the spool: no more commands are taken."""
        return self._states.decided_count >= self._most_decided

    def start(self) -> None:
        for outcome in self._states.decided:
            self._record(outcome)
        self._task = asyncio.create_task(self._work())

    async def end(self) -> None:
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def take(self, arrived: list[Arrived], positions: dict[int, int]) -> None:
        """From the topic."""
        for one in arrived:
            self._take_one(one)
        self.positions = positions
        self._news.set()

    def answer(self, answer: Answer, device: str, noted: Noted) -> None:
        """From a device; `noted` is called when it need not say it again."""
        outcome = self._states.on_answer(answer, device, self._clock())
        if outcome:
            self._noted.setdefault(answer.id, []).append(noted)
            self._record(outcome)
        elif self._states.is_decided(answer.id):
            self._noted.setdefault(answer.id, []).append(noted)
        else:
            log.warning(
                "device %s answers command %s, which was not sent to it; passed over",
                device,
                answer.id,
            )
            noted()

    def take_back(self, command_id: str) -> None:
        """Nobody was there to hear it."""
        self._states.take_back(command_id)

    def look_around(self) -> None:
        """A device may be there by now."""
        self._news.set()

    def _take_one(self, arrived: Arrived) -> None:
        command = read_command(arrived.value)
        if command is None:
            log.error("no command, passed over: partition %s offset %s", *arrived[:2])
        elif not self._has_outcome(command.id):
            broker_time = datetime.fromtimestamp(arrived.time_ms / 1000, UTC)
            outcome = self._states.on_command(command, broker_time, self._clock())
            if outcome:
                self._record(outcome)

    async def _work(self) -> None:
        try:
            while True:
                self._news.clear()
                for outcome in self._states.on_timer(self._clock()):
                    self._record(outcome)
                sent = self._states.start_sending(self._reaches, self._clock())
                await asyncio.to_thread(self._file.write, self._states.memory(self.positions))
                for one in sent:
                    self._carry(one)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), _LOOK_EVERY_S)
        except Exception as error:
            log.critical("commands have failed: %s", error, exc_info=True)
            self.failure = error

    def _reaches(self, device: str) -> bool:
        return any(carrier.reaches(device) for carrier in self.carriers)

    def _carry(self, one: Open) -> None:
        """Unless it has expired while that was written down."""
        command, is_in_time = one.command, self._clock() < one.deadline
        for carrier in self.carriers:
            if is_in_time and carrier.reaches(command.device) and carrier.carry(command):
                log.info("command %s %s sent to %s", command.id, command.name, command.device)
                return
        self._states.take_back(command.id)

    def _record(self, outcome: CommandOutcome) -> None:
        value = outcome.model_dump_json().encode()
        draft = Draft(OUTCOMES.encode(), outcome.device.encode(), value, _origin(outcome.id), 1)
        self._committer.submit(
            ReceivedBatch([draft], bytes_of(draft), lambda *_: self._on_recorded(outcome))
        )

    def _on_recorded(self, outcome: CommandOutcome) -> None:
        log.info("command %s of %s: %s", outcome.id, outcome.device, outcome.outcome)
        self._states.on_recorded(outcome.id)
        for noted in self._noted.pop(outcome.id, ()):
            noted()
        self._news.set()

    def _has_outcome(self, command_id: str) -> bool:
        """The spool knows it for a week, whatever else was not written down in time."""
        return self._committer.spool.last_of(_origin(command_id)) > 0


def _origin(command_id: str) -> bytes:
    """Each command has one outcome, number 1, and the spool takes no other."""
    return b"command/" + command_id.encode()
