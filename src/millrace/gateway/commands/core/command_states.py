"""Where a command is: waiting for its device, sent, answered or expired.

A command is sent once at most. It counts as sent before it leaves, so no restart sends it again;
what was sent and is not answered expires, and its outcome says so. An id is known until its command
has expired, so no replay of the topic sends it again either.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import AwareDatetime, Field

from millrace.base.model import Frozen
from millrace.gateway.commands.core.command import (
    Answer,
    Command,
    CommandOutcome,
    CommandResult,
    deadline,
)

MOST_LIFE = timedelta(days=7)


class Open(Frozen):
    """A command without an outcome."""

    command: Command
    deadline: AwareDatetime
    # None: it waits.
    sent_at: AwareDatetime | None = None


class Decided(Frozen):
    """An outcome that is not known to be in the spool."""

    outcome: CommandOutcome
    # How long the command has to be known.
    until: AwareDatetime


class Memory(Frozen):
    """What has to outlast a restart."""

    # By partition: the offset of the next command. None: a gateway that never had any.
    positions: dict[int, int] | None = None
    open: dict[str, Open] = Field(default_factory=dict)
    # With the positions behind their commands, so that no kill loses an outcome between the two.
    decided: dict[str, Decided] = Field(default_factory=dict)
    # By id: until when it has to be known.
    closed: dict[str, AwareDatetime] = Field(default_factory=dict)


class Rules(Frozen):
    # None: any device.
    devices: frozenset[str] | None = None
    most_open: int = 1_000


class CommandStates:
    def __init__(self, memory: Memory, rules: Rules) -> None:
        self._rules = rules
        self._open = dict(memory.open)
        self._closed = dict(memory.closed)
        self._decided = dict(memory.decided)

    def memory(self, positions: dict[int, int] | None) -> Memory:
        return Memory(
            positions=positions, open=self._open, decided=self._decided, closed=self._closed
        )

    @property
    def open_count(self) -> int:
        return len(self._open)

    @property
    def decided_count(self) -> int:
        return len(self._decided)

    @property
    def decided(self) -> list[CommandOutcome]:
        """Those that are not known to be in the spool."""
        return [one.outcome for one in self._decided.values()]

    def on_command(
        self, command: Command, broker_time: datetime, now: datetime
    ) -> CommandOutcome | None:
        """An outcome where it cannot have another."""
        if any(command.id in known for known in (self._open, self._closed, self._decided)):
            return None
        until = deadline(command, broker_time)
        objection = self._objection(command, until, now)
        if objection:
            return self._decide(command, now, *objection)
        self._open[command.id] = Open(command=command, deadline=until)
        return None

    def _objection(
        self, command: Command, until: datetime, now: datetime
    ) -> tuple[CommandResult, str] | None:
        if until <= now:
            return CommandResult.EXPIRED, "it had expired when it came"
        if command.expires_at - command.issued_at > MOST_LIFE:
            return CommandResult.REFUSED, f"it may not live for longer than {MOST_LIFE.days} days"
        if self._rules.devices is not None and command.device not in self._rules.devices:
            return CommandResult.UNKNOWN_DEVICE, "the gateway's file does not name it"
        if len(self._open) >= self._rules.most_open:
            return CommandResult.REFUSED, f"{self._rules.most_open} commands wait already"
        return None

    def start_sending(self, reaches: Callable[[str], bool], now: datetime) -> list[Open]:
        """Those whose devices are there, the eldest first; from here on they count as sent."""
        due = [
            one
            for one in self._open.values()
            if one.sent_at is None
            and one.command.id not in self._decided
            and now < one.deadline
            and reaches(one.command.device)
        ]
        for one in due:
            self._open[one.command.id] = one.model_copy(update={"sent_at": now})
        return due

    def take_back(self, command_id: str) -> None:
        """It is certain that it did not leave."""
        if command_id in self._open and command_id not in self._decided:
            one = self._open[command_id]
            self._open[command_id] = one.model_copy(update={"sent_at": None})

    def on_answer(self, answer: Answer, device: str, now: datetime) -> CommandOutcome | None:
        """None: it was answered before, had expired, or is none of this device's."""
        one = self._open.get(answer.id)
        if one is None or one.command.device != device or answer.id in self._decided:
            return None
        return self._decide(one.command, now, answer.verdict, answer.text)

    def on_timer(self, now: datetime) -> list[CommandOutcome]:
        self._closed = {one: until for one, until in self._closed.items() if until > now}
        return [
            self._decide(one.command, now, CommandResult.EXPIRED, _why_expired(one))
            for one in list(self._open.values())
            if one.deadline <= now and one.command.id not in self._decided
        ]

    def is_decided(self, command_id: str) -> bool:
        """It has an outcome that is not in the spool yet."""
        return command_id in self._decided

    def on_recorded(self, command_id: str) -> None:
        """Its outcome is in the spool."""
        one, decided = self._open.pop(command_id, None), self._decided.pop(command_id, None)
        if decided:
            self._closed[command_id] = decided.until
        elif one:
            self._closed[command_id] = one.command.expires_at

    def _decide(
        self, command: Command, now: datetime, verdict: CommandResult, text: str
    ) -> CommandOutcome:
        outcome = CommandOutcome(
            id=command.id, device=command.device, at=now, outcome=verdict, text=text
        )
        until = min(command.expires_at, now + MOST_LIFE)
        self._decided[command.id] = Decided(outcome=outcome, until=until)
        return outcome


def _why_expired(one: Open) -> str:
    if one.sent_at is None:
        return "its device was not connected"
    return f"sent at {one.sent_at.isoformat(timespec='milliseconds')}, and not answered"
