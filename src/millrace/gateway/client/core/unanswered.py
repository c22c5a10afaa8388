"""A device's messages, in order, until the gateway says that they are safe."""

from __future__ import annotations

from collections import deque


class Backlog:
    def __init__(self) -> None:
        self._unsent: deque[bytes] = deque()
        self._unanswered: deque[bytes] = deque()
        # What the gateway had of the device's name before all of these; None: nobody asked it yet.
        self._before: int | None = None
        self.delivered = self.refused = 0

    @property
    def outstanding(self) -> int:
        return len(self._unsent) + len(self._unanswered)

    def put(self, message: bytes) -> None:
        self._unsent.append(message)

    def begin_behind(self, safe: int) -> None:
        """On a new connection, where the gateway has so many messages of the device's name."""
        if self._before is None or safe < self._before + self.delivered:
            # The gateway has forgotten what it called safe: an older state of its folder came back.
            self._before = safe - self.delivered
        while self._before + self.delivered < safe and self._unanswered:
            self._unanswered.popleft()
            self.delivered += 1
        self._unsent.extendleft(reversed(self._unanswered))
        self._unanswered.clear()

    def burst(self, most_bytes: int) -> list[bytes]:
        """What is to be sent next: no more messages than reach so many bytes; none: all is sent."""
        found: list[bytes] = []
        size = 0
        while self._unsent and size < most_bytes:
            found.append(self._unsent.popleft())
            size += len(found[-1])
        self._unanswered.extend(found)
        return found

    def on_safe(self) -> None:
        """The first of those that wait for an answer."""
        self._unanswered.popleft()
        self.delivered += 1

    def on_refused(self) -> None:
        self._unanswered.popleft()
        self.refused += 1
