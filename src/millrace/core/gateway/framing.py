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


class Lines:
    """A message a line, ended by LF or CR LF; empty lines are no messages."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._begun = b""
        self._passes_over = False

    @property
    def is_within(self) -> bool:
        return self._passes_over or bool(self._begun)

    def feed(self, data: bytes) -> list[bytes | None]:
        lines = (self._begun + data).split(b"\n")
        self._begun = lines.pop()
        found: list[bytes | None] = []
        for line in lines:
            if self._passes_over:
                self._passes_over = False
                continue
            message = line.removesuffix(b"\r")
            if len(message) > self._most:
                found.append(None)
            elif message:
                found.append(message)
        return found + self._check_begun()

    def _check_begun(self) -> list[bytes | None]:
        """A line that is too long is told of at once, and kept no longer."""
        if len(self._begun) <= self._most + 1:
            return []
        was_told, self._passes_over, self._begun = self._passes_over, True, b""
        return [] if was_told else [None]


class LengthPrefixed:
    """Four bytes that say how many follow (big-endian), and these: for messages of any bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._begun = b""
        self._to_pass_over = 0

    @property
    def is_within(self) -> bool:
        return self._to_pass_over > 0 or bool(self._begun)

    def feed(self, data: bytes) -> list[bytes | None]:
        data = self._after_passing_over(self._begun + data)
        found: list[bytes | None] = []
        at = 0
        while at + _LENGTH.size <= len(data):
            (length,) = _LENGTH.unpack_from(data, at)
            begin, end = at + _LENGTH.size, at + _LENGTH.size + length
            if length > self._most:
                found.append(None)
                self._to_pass_over = length
                data, at = self._after_passing_over(data[begin:]), 0
                continue
            if end > len(data):
                break
            found.append(data[begin:end])
            at = end
        self._begun = data[at:]
        return found

    def _after_passing_over(self, data: bytes) -> bytes:
        passed = min(self._to_pass_over, len(data))
        self._to_pass_over -= passed
        return data[passed:]
