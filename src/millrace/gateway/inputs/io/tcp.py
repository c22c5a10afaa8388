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
from collections.abc import Callable
from datetime import timedelta

from millrace.gateway.commands.core.command import noted_line, read_answer
from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.inputs.core.framing import Framing, LengthPrefixed, Lines
from millrace.gateway.inputs.core.greeting import may_be_called, name_in, owner_of
from millrace.gateway.inputs.io.device_names import Names
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.tcp_socket import keep_alive
from millrace.gateway.spec.core.input_specs import TcpInput
from millrace.gateway.spec.io.gateway_settings import Admission
from millrace.gateway.spool.core.ledger import are_safe
from millrace.gateway.spool.core.records import Record
from millrace.gateway.spool.io.committer import Outcome, ReceivedBatch

_FRAMINGS: dict[str, Callable[[int], Framing]] = {
    "lines": Lines,
    "length-prefixed": LengthPrefixed,
}
# What is read at once: of the shortest messages, answers take up fourteen times as much.
_READ_BYTES = 32 << 10
# What one connection may have under way before it is not read any more.
_UNANSWERED_BYTES = 256 << 10
# What a refusal counts for among it.
_REFUSAL_BYTES = 64
# And how many bytes of answers may wait for a client that does not read.
_UNREAD_BYTES = 64 << 10
# What all connections of an input may have begun and not ended.
_BEGUN_BYTES = 64 << 20


class Connections:
    """Those of one input that are open, and what they have begun."""

    def __init__(self, spec: TcpInput, intake: Intake) -> None:
        self.open: set[Connection] = set()
        # The loop fills it and has it read in one go, so one is enough for all.
        self.piece = memoryview(bytearray(_READ_BYTES))
        self.names = Names(spec.name, intake.contested)
        self._most_begun_bytes = max(_BEGUN_BYTES, 2 * spec.max_message)
        self._begun_bytes = 0

    def look_after(self, now_s: float) -> None:
        for connection in list(self.open):
            connection.look_after(now_s)

    def count_begun(self, grown_bytes: int) -> None:
        """Whoever holds most of what has not ended makes room for the others."""
        self._begun_bytes += grown_bytes
        while self._begun_bytes > self._most_begun_bytes and self.open:
            max(self.open, key=lambda one: one.begun_bytes).cut()


class Connection(asyncio.BufferedProtocol):
    def __init__(
        self,
        spec: TcpInput,
        intake: Intake,
        connections: Connections,
        commander: Commander | None = None,
        admits: Admission | None = None,
    ) -> None:
        """`commander` None: its device hears no commands. `admits` None: whoever connects."""
        self._spec = spec
        self._intake = intake
        self._connections = connections
        self._commander = commander
        self._admits = admits
        self._framing = _FRAMINGS[spec.framing](spec.max_message)
        self.transport: asyncio.Transport | None = None
        self._is_first = True
        self._origin = b""
        self._number = 0
        self._unanswered_bytes = 0
        self.is_paused = self._ends_when_answered = False
        self.begun_bytes = 0
        self._begun_at_s: float | None = None
        # Since when its client reads no answers.
        self._deaf_since_s: float | None = None
        # It waits for the name it has said; what came behind that waits with it.
        self._contest: asyncio.Task[None] | None = None
        self._held_back: list[bytes | None] = []

    # What the event loop calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self._admits and not self._admits(transport):
            transport.abort()
            return
        self.transport = transport
        self._connections.open.add(self)
        keep_alive(transport)
        transport.set_write_buffer_limits(high=_UNREAD_BYTES)
        if self._intake.is_crowded:
            self._pause()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's own
        self._connections.open.discard(self)
        self.transport = None
        self._count_begun(0)
        if self._contest:
            self._contest.cancel()
        self._connections.names.let_go(self._device, self)
        if self._commander:
            self._commander.devices.leave(self._device, self)
        if self._framing.is_within:
            self._intake.malformed += 1

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's own
        return self._connections.piece

    def buffer_updated(self, nbytes: int) -> None:
        self._on_data(bytes(self._connections.piece[:nbytes]))

    def _on_data(self, data: bytes) -> None:
        messages = self._framing.feed(data)
        self._count_begun(self._framing.begun_bytes)
        self._watch_the_clock(has_ended=bool(messages))
        if messages and self._is_first:
            self._is_first = False
            if self._is_greeted_by(messages[0]):
                messages = messages[1:]
        if self._contest:
            self._held_back += messages
        else:
            self._go_on(messages)

    def pause_writing(self) -> None:
        """A client that reads no answers is not read either."""
        self._deaf_since_s = asyncio.get_running_loop().time()
        self._pause()

    def resume_writing(self) -> None:
        self._deaf_since_s = None
        self._resume()

    def eof_received(self) -> bool:
        """What came before is answered before the connection ends."""
        self._ends_when_answered = self._unanswered_bytes > 0
        return self._ends_when_answered and not self._spec.tls

    def look_after(self, now_s: float) -> None:
        if not self._intake.is_crowded:
            self._resume()
        patience_s = self._spec.patience / timedelta(seconds=1)
        waits = (self._begun_at_s, self._deaf_since_s)
        if any(since_s is not None and now_s - since_s > patience_s for since_s in waits):
            self.cut()

    def cut(self) -> None:
        """Not `end`, which would wait for a farewell of a client that says nothing."""
        self._count_begun(0)
        self._connections.open.discard(self)
        if self.transport:
            self._intake.cut += 1
            self.transport.abort()

    def end(self) -> None:
        if self.transport:
            self.transport.close()

    # Commands.

    @property
    def _device(self) -> str:
        return self._origin.decode()

    @property
    def _owner(self) -> str:
        return owner_of(self.transport.get_extra_info("peercert")) if self.transport else ""

    def say(self, words: bytes) -> bool:
        """Whether they have left."""
        if self.transport is None or self.transport.is_closing() or self._deaf_since_s is not None:
            return False
        self.transport.write(words)
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

    def _go_on(self, messages: list[bytes | None]) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        if self._commander and self._origin:
            messages = [one for one in messages if not self._is_answer(one)]
        self._take(messages)

    def _count_begun(self, begun_bytes: int) -> None:
        grown_bytes, self.begun_bytes = begun_bytes - self.begun_bytes, begun_bytes
        if grown_bytes:
            self._connections.count_begun(grown_bytes)

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
        if self._spec.is_named_by_certificate and not may_be_called(name, self._owner):
            self._say(b"REFUSED HELLO says another name than the certificate\n")
            self.end()
            return True
        if self._connections.names.hold(name, self):
            self._welcome(name)
        else:
            self._contest = asyncio.get_running_loop().create_task(self._contend(name))
            self._pause()
        return True

    async def _contend(self, name: str) -> None:
        has_won = await self._connections.names.contend(name, self)
        self._contest = None
        if has_won:
            self._welcome(name)
            held_back, self._held_back = self._held_back, []
            self._go_on(held_back)
            self._resume()
        else:
            self._say(b"REFUSED another device has said HELLO with this name, and is there\n")
            self.end()

    def _welcome(self, name: str) -> None:
        self._origin = name.encode()
        self._number = self._intake.last_of(self._origin)
        self._say(b"OK %d\n" % self._number)
        if self._commander:
            self._commander.devices.enter(self._device, self)
            self._commander.look_around()

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
        taken_bytes = self._intake.take(messages, self._answer, self._origin, first)
        self._count_under_way(taken_bytes)

    def _count_under_way(self, taken_bytes: int) -> None:
        self._unanswered_bytes += taken_bytes
        if self._unanswered_bytes > _UNANSWERED_BYTES or self._intake.is_crowded:
            self._pause()

    def _hand_in_too_long(self) -> None:
        """Goes through the same queue, so that its answer stands in its place among the others."""
        self._intake.malformed += 1
        self._count_under_way(_REFUSAL_BYTES)
        self._intake.take([], self._refuse_too_long)

    # What goes out.

    def _answer(self, batch: ReceivedBatch, outcome: Outcome) -> None:
        self._unanswered_bytes -= batch.bytes
        if outcome is None:
            self._refuse(b"there is no room", len(batch.drafts))
        elif not are_safe(outcome):
            self._refuse(b"a message before it was not taken", len(batch.drafts))
        elif self._origin:
            self._say(b"".join([b"%d\n" % draft.origin_number for draft in batch.drafts]))
        else:
            self._say(b"".join([b"%d\n" % e.number for e in outcome if isinstance(e, Record)]))
        self._end_or_go_on()

    def _end_or_go_on(self) -> None:
        if self._ends_when_answered and self._unanswered_bytes == 0:
            self.end()
        self._resume()

    def _refuse(self, reason: bytes, count: int) -> None:
        """Who hears no answers, or numbers its messages, notices by the end of the connection."""
        self._say_refused(reason, count)
        if self._origin or not self._spec.acknowledge:
            self.end()

    def _refuse_too_long(self, _batch: ReceivedBatch, _outcome: Outcome) -> None:
        self._unanswered_bytes -= _REFUSAL_BYTES
        self._say_refused(b"longer than %d bytes" % self._spec.max_message)
        self._end_or_go_on()

    def _say_refused(self, reason: bytes, count: int = 1) -> None:
        self._say((b"REFUSED %s\n" % reason) * count)

    def _say(self, words: bytes) -> None:
        if self.transport and self._spec.acknowledge:
            self.transport.write(words)

    def _pause(self) -> None:
        if self.transport and not self.is_paused:
            self.transport.pause_reading()
            self.is_paused = True

    def _resume(self) -> None:
        is_held = self._contest is not None or self._deaf_since_s is not None
        has_room = self._unanswered_bytes <= _UNANSWERED_BYTES
        if self.transport and self.is_paused and has_room and not is_held:
            self.transport.resume_reading()
            self.is_paused = False
