"""What is known of an origin, which numbers its messages itself: its last, and those that lack."""

from __future__ import annotations

from typing import NamedTuple

Range = tuple[int, int]
# An origin with more gaps than these: what was before the newest of them is not known any more.
_MOST_GAPS = 16


class OriginState(NamedTuple):
    # Its last message, by its own count; 0: there was none.
    last: int = 0
    # The same by the spool's count. Who was silent for longest is forgotten first.
    serial: int = 0
    # Numbers below it are not known any more: some were kept and some were not.
    floor: int = 0
    # First and last numbers that were passed over, in order.
    gaps: tuple[Range, ...] = ()

    def lacks(self, number: int) -> bool:
        """Whether it is behind the last one and was never kept."""
        return any(first <= number <= last for first, last in self.gaps)

    def after(self, number: int, serial: int) -> OriginState:
        """With one more message that is kept."""
        if number == self.last + 1:
            return OriginState(number, serial, self.floor, self.gaps)
        if number <= self.last:
            return self._replace(serial=serial, gaps=_without(self.gaps, number))
        gaps, floor = (*self.gaps, (self.last + 1, number - 1)), self.floor
        if len(gaps) > _MOST_GAPS:
            floor, gaps = gaps[0][1] + 1, gaps[1:]
        return OriginState(number, serial, floor, gaps)


def _without(gaps: tuple[Range, ...], number: int) -> tuple[Range, ...]:
    left: list[Range] = []
    for first, last in gaps:
        if first <= number <= last:
            left += [one for one in ((first, number - 1), (number + 1, last)) if one[0] <= one[1]]
        else:
            left.append((first, last))
    return tuple(left)
