"""Names of messages that a look back has met at the broker, and what each stands for there."""

from __future__ import annotations

from collections.abc import Mapping

# More than may have been sent and not be done, so none that matters is forgotten, but after an
# older state of broker or spool came back. What is sent twice then, silver knows by its number.
MOST = 500_000


class FoundNames:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._count = 0
        # By topic and epoch: what the messages hold, by their numbers.
        self._found: dict[tuple[bytes, int], dict[int, int]] = {}
        self._highest: dict[tuple[bytes, int], int] = {}
        # Names that there was no room for, the lowest numbers first.
        self.forgotten = 0

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return self._count

    def add(self, topic: bytes, epoch: int, number: int, content: int) -> None:
        name = topic, epoch
        contents = self._found.setdefault(name, {})
        self._highest[name] = max(number, self._highest.get(name, 0))
        self._count += number not in contents
        contents[number] = content
        if self._count > self._most:
            self._forget_lowest()

    def content(self, topic: bytes, epoch: int, number: int) -> int | None:
        """None: it was not met."""
        contents = self._found.get((topic, epoch))
        return contents.get(number) if contents else None

    def highest(self, topic: bytes, epoch: int) -> int:
        """0: none was met."""
        return self._highest.get((topic, epoch), 0)

    def beyond(self, passed: Mapping[bytes, tuple[int, int]]) -> set[bytes]:
        """Topics with a later epoch and number than `passed` says, or of which it says nothing."""
        return {
            topic
            for (topic, epoch), number in self._highest.items()
            if (epoch, number) > passed.get(topic, (-1, -1))
        }

    def forget(self, topic: bytes) -> None:
        for name in [name for name in self._found if name[0] == topic]:
            self._count -= len(self._found.pop(name))
            del self._highest[name]

    def clear(self) -> None:
        self._found.clear()
        self._highest.clear()
        self._count = 0

    def _forget_lowest(self) -> None:
        """A quarter of the topic and epoch that has most: its lowest were done first."""
        fullest = max(self._found.values(), key=len)
        lowest = sorted(fullest)[: max(1, len(fullest) // 4)]
        for number in lowest:
            del fullest[number]
        self._count -= len(lowest)
        self.forgotten += len(lowest)
