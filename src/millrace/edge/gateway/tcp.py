"""Messages that follow each other on a TCP connection, with TLS or, where asked for, without.

With `acknowledge`, each message is answered with its number, a line each, once it is safe; one that
is not taken with `REFUSED` and the reason. A device may begin with `HELLO <name>`. The answer is
`OK <n>`: so many of its messages are safe, and the next one has number n + 1. So it knows after a
cut where to go on, and nothing is kept twice.

Where the input has `commands`, such a device is told `COMMAND <json>`. It says what became of it by
`OUTCOME <id> done|failed [text]`, again on its next connection unless it has heard `NOTED <id>`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from datetime import timedelta

from millrace.core.gateway.commands import noted_line, read_answer
from millrace.core.gateway.framing import Framing, LengthPrefixed, Lines
from millrace.core.gateway.greeting import may_be_called, name_in, owner_of
from millrace.core.gateway.inputs import TcpInput
from millrace.core.gateway.ledger import are_safe
from millrace.core.gateway.records import Record
from millrace.edge.gateway.commander import Commander
from millrace.edge.gateway.committer import Batch, Outcome
from millrace.edge.gateway.intake import Intake

_FRAMINGS: dict[str, Callable[[int], Framing]] = {
    "lines": Lines,
    "length-prefixed": LengthPrefixed,
}
# What one connection may have under way before it is not read any more.
_UNANSWERED_BYTES = 256 << 10
_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 10, socket.TCP_KEEPCNT: 3}


class Connections:
    """Those of one input that are open, and how many there may be."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open: set[Connection] = set()
        self.refused = 0

    def look_after(self, now_s: float) -> None:
        """Whoever began a message and does not end it makes room for others."""
        for connection in list(self.open):
            connection.look_after(now_s)


class Connection(asyncio.Protocol):
    def __init__(
        self,
        spec: TcpInput,
        intake: Intake,
        connections: Connections,
        commander: Commander | None = None,
    ) -> None:
        """`commander` None: its device hears no commands."""
        self._spec = spec
        self._intake = intake
        self._connections = connections
        self._commander = commander
        self._framing = _FRAMINGS[spec.framing](spec.max_message)
        self._transport: asyncio.Transport | None = None
        self._is_first = True
        self._origin = b""
        self._number = 0
        self._unanswered_bytes = 0
        self._is_paused = self._ends_when_answered = False
        self._begun_at_s: float | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self._connections.open) >= self._connections.most:
            self._connections.refused += 1
            transport.abort()
            return
        self._transport = transport
        self._connections.open.add(self)
        _keep_alive(transport)
        if self._intake.is_crowded:
            self._pause()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's own
        self._connections.open.discard(self)
        self._transport = None
        if self._commander:
            self._commander.devices.leave(self._device, self)
        if self._framing.is_within:
            self._intake.malformed += 1

    def data_received(self, data: bytes) -> None:
        messages = self._framing.feed(data)
        self._watch_the_clock(has_ended=bool(messages))
        if messages and self._is_first:
            self._is_first = False
            if self._is_greeted_by(messages[0]):
                messages = messages[1:]
        if self._transport is None or self._transport.is_closing():
            return
        if self._commander and self._origin:
            messages = [one for one in messages if not self._is_answer(one)]
        self._take(messages)

    def eof_received(self) -> bool:
        """What came before is answered before the connection ends."""
        self._ends_when_answered = self._unanswered_bytes > 0
        return self._ends_when_answered and not self._spec.tls

    def look_after(self, now_s: float) -> None:
        if not self._intake.is_crowded:
            self._resume()
        patience_s = self._spec.patience / timedelta(seconds=1)
        is_stuck = self._begun_at_s is not None and now_s - self._begun_at_s > patience_s
        if is_stuck and self._transport:
            # Not `close`, which would wait for a farewell of whoever says nothing.
            self._transport.abort()

    def end(self) -> None:
        if self._transport:
            self._transport.close()

    # Commands.

    @property
    def _device(self) -> str:
        return self._origin.decode()

    @property
    def _owner(self) -> str:
        return owner_of(self._transport.get_extra_info("peercert")) if self._transport else ""

    def say(self, words: bytes) -> bool:
        """Whether they have left."""
        if self._transport is None or self._transport.is_closing():
            return False
        self._transport.write(words)
        return True

    def _is_answer(self, message: bytes | None) -> bool:
        answer = read_answer(message) if message and self._commander else None
        if answer is None or self._commander is None:
            return False
        self._commander.answer(answer, self._device, lambda: self._note(answer.id))
        return True

    def _note(self, command_id: str) -> None:
        self.say(noted_line(command_id))

    # What comes in.

    def _watch_the_clock(self, *, has_ended: bool) -> None:
        if not self._framing.is_within:
            self._begun_at_s = None
        elif has_ended or self._begun_at_s is None:
            self._begun_at_s = asyncio.get_running_loop().time()

    def _is_greeted_by(self, message: bytes | None) -> bool:
        """Only where answers are given: a device that hears none cannot know where to go on."""
        name = name_in(message) if message and self._spec.acknowledge else None
        if name is None:
            return False
        if self._spec.names == "certificate" and not may_be_called(name, self._owner):
            self._say(b"REFUSED HELLO says another name than the certificate\n")
            self.end()
            return True
        self._origin = name.encode()
        self._number = self._intake.last_of(self._origin)
        self._say(b"OK %d\n" % self._number)
        if self._commander:
            self._commander.devices.enter(self._device, self)
            self._commander.look_around()
        return True

    def _take(self, found: list[bytes | None]) -> None:
        messages = []
        for message in found:
            if message is not None:
                messages.append(message)
                continue
            self._hand_in(messages)
            self._hand_in_too_long()
            messages = []
        self._hand_in(messages)

    def _hand_in(self, messages: list[bytes]) -> None:
        if not messages:
            return
        first = self._number + 1
        if self._origin:
            self._number += len(messages)
        self._unanswered_bytes += self._intake.take(messages, self._answer, self._origin, first)
        if self._unanswered_bytes > _UNANSWERED_BYTES or self._intake.is_crowded:
            self._pause()

    def _hand_in_too_long(self) -> None:
        """Goes through the same queue, so that its answer stands in its place among the others."""
        self._intake.malformed += 1
        words = b"longer than %d bytes" % self._spec.max_message
        self._intake.take([], lambda _batch, _outcome: self._say_refused(words))

    # What goes out.

    def _answer(self, batch: Batch, outcome: Outcome) -> None:
        self._unanswered_bytes -= batch.bytes
        if outcome is None:
            self._refuse(b"there is no room", len(batch.drafts))
        elif not are_safe(outcome):
            self._refuse(b"a message before it was not taken", len(batch.drafts))
        elif self._origin:
            self._say(b"".join([b"%d\n" % draft.origin_number for draft in batch.drafts]))
        else:
            self._say(b"".join([b"%d\n" % e.number for e in outcome if isinstance(e, Record)]))
        if self._ends_when_answered and self._unanswered_bytes == 0:
            self.end()
        self._resume()

    def _refuse(self, reason: bytes, count: int) -> None:
        """Who hears no answers, or numbers its messages, notices by the end of the connection."""
        self._say_refused(reason, count)
        if self._origin or not self._spec.acknowledge:
            self.end()

    def _say_refused(self, reason: bytes, count: int = 1) -> None:
        self._say((b"REFUSED %s\n" % reason) * count)

    def _say(self, words: bytes) -> None:
        if self._transport and self._spec.acknowledge:
            self._transport.write(words)

    def _pause(self) -> None:
        if self._transport and not self._is_paused:
            self._transport.pause_reading()
            self._is_paused = True

    def _resume(self) -> None:
        if self._transport and self._is_paused and self._unanswered_bytes <= _UNANSWERED_BYTES:
            self._transport.resume_reading()
            self._is_paused = False


def _keep_alive(transport: asyncio.Transport) -> None:
    """A device that went without a farewell makes room within a minute."""
    connected: socket.socket = transport.get_extra_info("socket")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE.items():
        connected.setsockopt(socket.IPPROTO_TCP, option, value)
