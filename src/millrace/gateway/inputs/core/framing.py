"""Where one message ends and the next begins, in bytes that come as they come."""

from __future__ import annotations

import struct
from typing import Protocol

_LENGTH = struct.Struct(">I")


class Framing(Protocol):
    """Turns bytes into messages. `None` stands where a message was too long to be kept."""

    def feed(self, data: bytes) -> list[bytes | None]: ...

    @property
    def is_within(self) -> bool:
        """Whether a message has begun and not ended."""
        ...

    @property
    def begun_bytes(self) -> int:
        """What is in memory of a message that has begun and not ended."""
        ...


class Lines:
    """A message a line, ended by LF or CR LF; empty lines are no messages."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        # Grows in place: what has come is not copied again with each piece that follows.
        self._begun = bytearray()
        self._passes_over = False

    @property
    def is_within(self) -> bool:
        return self._passes_over or bool(self._begun)

    @property
    def begun_bytes(self) -> int:
        return len(self._begun)

    def feed(self, data: bytes) -> list[bytes | None]:
        found: list[bytes | None] = []
        if self.is_within:
            line, end, data = data.partition(b"\n")
            self._go_on(line, found)
            if not end:
                return found
            self._end(found)
        lines = data.split(b"\n")
        begun = lines.pop()
        self._take(lines, found)
        if begun:
            self._go_on(begun, found)
        return found

    def _go_on(self, piece: bytes, found: list[bytes | None]) -> None:
        """A line that is too long is told of at once, and kept no longer."""
        if self._passes_over:
            return
        self._begun.extend(piece)
        if len(self._begun) > self._most + 1:
            self._passes_over, self._begun = True, bytearray()
            found.append(None)

    def _end(self, found: list[bytes | None]) -> None:
        if self._passes_over:
            self._passes_over = False
            return
        line, self._begun = bytes(self._begun), bytearray()
        self._take([line], found)

    def _take(self, lines: list[bytes], found: list[bytes | None]) -> None:
        for line in lines:
            message = line.removesuffix(b"\r")
            if len(message) > self._most:
                found.append(None)
            elif message:
                found.append(message)


class LengthPrefixed:
    """Four bytes that say how many follow (big-endian), and these: for messages of any bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        # From the length on; grows in place.
        self._begun = bytearray()
        self._to_pass_over = 0

    @property
    def is_within(self) -> bool:
        return self._to_pass_over > 0 or bool(self._begun)

    @property
    def begun_bytes(self) -> int:
        return len(self._begun)

    def feed(self, data: bytes) -> list[bytes | None]:
        found: list[bytes | None] = []
        at = 0
        while at < len(data):
            if self._to_pass_over:
                passed = min(self._to_pass_over, len(data) - at)
                self._to_pass_over -= passed
                at += passed
            elif self._begun or at + _LENGTH.size > len(data):
                at = self._go_on(data, at, found)
            else:
                at = self._take(data, at, found)
        return found

    def _take(self, data: bytes, at: int, found: list[bytes | None]) -> int:
        """A message of which the length at least is here. Returns where the next one begins."""
        length = _length_at(data, at)
        begin, end = at + _LENGTH.size, at + _LENGTH.size + length
        if length > self._most:
            self._to_pass_over = length
            found.append(None)
            return begin
        if end > len(data):
            self._begun.extend(data[at:])
            return len(data)
        found.append(data[begin:end])
        return end

    def _go_on(self, data: bytes, at: int, found: list[bytes | None]) -> int:
        """With one whose length, or whose end, is still to come."""
        if len(self._begun) < _LENGTH.size:
            end = at + _LENGTH.size - len(self._begun)
            self._begun.extend(data[at:end])
            if len(self._begun) == _LENGTH.size:
                head, self._begun = bytes(self._begun), bytearray()
                self._take(head, 0, found)
            return min(end, len(data))
        length = _length_at(self._begun, 0)
        end = at + _LENGTH.size + length - len(self._begun)
        self._begun.extend(data[at:end])
        if len(self._begun) == _LENGTH.size + length:
            found.append(bytes(memoryview(self._begun)[_LENGTH.size :]))
            self._begun = bytearray()
        return min(end, len(data))


def _length_at(data: bytes | bytearray, at: int) -> int:
    return int(_LENGTH.unpack_from(data, at)[0])
