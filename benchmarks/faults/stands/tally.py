"""What became of numbered messages: pure counting, no clock and no broker."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

FRESH_S = 1.0
# Messages by key and number.
Numbered = set[tuple[str, int]]


class Message(NamedTuple):
    key: str
    number: int
    # When it was due at its device, by the clock of who counts.
    due_s: float


@dataclass(frozen=True)
class Count:
    lost: int
    doubled: int
    disordered: int

    def worst(self, other: Count) -> Count:
        return Count(
            max(self.lost, other.lost),
            max(self.doubled, other.doubled),
            max(self.disordered, other.disordered),
        )


class Tally:
    """Numbers of each key grow by one, from 0."""

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}
        self._last: dict[str, int] = {}
        self.doubled = self.disordered = 0

    @property
    def distinct(self) -> int:
        return sum(map(len, self._seen.values()))

    def see(self, message: Message) -> None:
        key, number, _ = message
        seen = self._seen.setdefault(key, set())
        if number in seen:
            self.doubled += 1
            return
        seen.add(number)
        if number < self._last.get(key, -1):
            self.disordered += 1
        self._last[key] = number

    def missing(self, sent: Mapping[str, int]) -> Numbered:
        """`sent`: how many of each key."""
        return {
            (key, number)
            for key, count in sent.items()
            for number in set(range(count)) - self._seen.get(key, set())
        }

    def judge(self, sent: Mapping[str, int], destroyed: Collection[tuple[str, int]] = ()) -> Count:
        """`destroyed`: what the fault itself took away, which nobody could save."""
        return Count(len(self.missing(sent) - set(destroyed)), self.doubled, self.disordered)


class Freshness:
    """Since when each key's newest message has been at most a second old."""

    def __init__(self, keys: Collection[str], now_s: float) -> None:
        self._newest = dict.fromkeys(keys, now_s)
        self._heard_s = now_s
        self.stale_s = now_s
        self.silence_s = 0.0

    def hear(self, message: Message, now_s: float) -> None:
        self._newest[message.key] = max(self._newest[message.key], message.due_s)
        self.silence_s = max(self.silence_s, now_s - self._heard_s)
        self._heard_s = now_s

    def look(self, now_s: float) -> None:
        if now_s - min(self._newest.values()) > FRESH_S:
            self.stale_s = now_s

    def recovery_s(self, ended_s: float) -> float:
        """From the end of a fault until all keys were fresh, and stayed so."""
        return max(0.0, self.stale_s - ended_s)
