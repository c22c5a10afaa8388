"""Commands to devices and what became of them: as they stand in Kafka, and as devices say them."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import (
    AwareDatetime,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from millrace.base.model import Frozen

_OUTCOME = re.compile(rb"OUTCOME ([A-Za-z0-9_-]{1,64}) (done|failed)(?: (.{0,500}))?", re.DOTALL)
_RESPONSE = re.compile(rb"(done|failed)(?: (.{0,500}))?", re.DOTALL)

CommandId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
DeviceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:/-]{1,200}$")]
CommandName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")]


class Command(Frozen):
    """What a device is to do, and until when."""

    id: CommandId
    device: DeviceName
    name: CommandName
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    issued_at: AwareDatetime
    expires_at: AwareDatetime

    @model_validator(mode="after")
    def _lives(self) -> Command:
        if self.expires_at <= self.issued_at:
            raise ValueError("expires_at has to be after issued_at")
        return self

    def issued_anew(self, now: datetime) -> Command:
        life = self.expires_at - self.issued_at
        return self.model_copy(update={"issued_at": now, "expires_at": now + life})


class CommandResult(StrEnum):
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUSED = "refused"
    UNKNOWN_DEVICE = "unknown device"


class CommandOutcome(Frozen):
    id: CommandId
    device: DeviceName
    at: AwareDatetime
    outcome: CommandResult
    text: str = ""


class Answer(NamedTuple):
    """What a device says of a command."""

    id: str
    verdict: CommandResult
    text: str


def read_command(value: bytes | None) -> Command | None:
    """None: nobody could be told what became of it."""
    try:
        return Command.model_validate_json(value or b"")
    except ValidationError:
        return None


def command_line(command: Command) -> bytes:
    return b"COMMAND " + command.model_dump_json().encode() + b"\n"


def noted_line(command_id: str) -> bytes:
    """Its answer is safe, and need not be said again."""
    return b"NOTED " + command_id.encode() + b"\n"


def read_answer(line: bytes) -> Answer | None:
    """`OUTCOME <id> done|failed [text]`; None: this is a message like any other."""
    found = _OUTCOME.fullmatch(line)
    return _answer(found[1], found[2], found[3]) if found else None


def read_response(correlation: bytes, payload: bytes) -> Answer | None:
    """Of an MQTT device: `done|failed [text]`, its correlation data is the command's id."""
    found = _RESPONSE.fullmatch(payload)
    return _answer(correlation, found[1], found[2]) if found else None


def _answer(command_id: bytes, verdict: bytes, text: bytes | None) -> Answer:
    said = (text or b"").decode(errors="replace")
    return Answer(command_id.decode(errors="replace"), CommandResult(verdict.decode()), said)


def deadline(command: Command, broker_time: datetime) -> datetime:
    """Whoever issues a command with a clock that is ahead does not make it live longer."""
    return min(command.expires_at, broker_time + (command.expires_at - command.issued_at))
