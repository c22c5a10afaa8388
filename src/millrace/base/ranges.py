"""Sets of offsets as ranges, however many offsets these hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millrace.base.model import Frozen

# Offsets are counted in words of 64: an engine says with one number which of them it has.
WORD = 64
_ALL = (1 << WORD) - 1


class Range(Frozen):
    """Offsets from `first` to `last`, both of them included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"[{self.first}..{self.last}]"

    @property
    def count(self) -> int:
        return self.last - self.first + 1


Ranges = tuple[Range, ...]


def range_between(begin: int, end: int) -> Ranges:
    """From `begin` up to, without, `end`; nothing where that is no way forward."""
    return (Range(first=begin, last=end - 1),) if begin < end else ()


def ranges_of_words(words: Iterable[tuple[int, int, int]]) -> Ranges:
    """Each (first word, last word, mask): the same mask, a signed number, in all of these."""
    return joined(one for first, last, mask in words for one in _ranges_in(first, last, mask))


def _ranges_in(first: int, last: int, signed_mask: int) -> Iterator[Range]:
    mask = signed_mask & _ALL
    if mask == _ALL:
        yield Range(first=first * WORD, last=last * WORD + WORD - 1)
        return
    for word in range(first, last + 1):
        yield from _ranges_of_word(word * WORD, mask)


def _ranges_of_word(base: int, mask: int) -> Iterator[Range]:
    while mask:
        begin = (mask & -mask).bit_length() - 1
        length = _trailing_ones(mask >> begin)
        yield Range(first=base + begin, last=base + begin + length - 1)
        mask &= ~(((1 << length) - 1) << begin)


def _trailing_ones(mask: int) -> int:
    return (mask ^ (mask + 1)).bit_length() - 1


def joined(ranges: Iterable[Range]) -> Ranges:
    """The same offsets in order, in as few ranges as there can be."""
    done: list[Range] = []
    for one in sorted(ranges, key=lambda one: one.first):
        if done and one.first <= done[-1].last + 1:
            done[-1] = Range(first=done[-1].first, last=max(done[-1].last, one.last))
        else:
            done.append(one)
    return tuple(done)


def without(ranges: Ranges, taken: Ranges) -> Ranges:
    """What is in `ranges` and not in `taken`; both are joined ones."""
    left: list[Range] = []
    rest = iter(taken)
    hole = next(rest, None)
    for one in ranges:
        begin = one.first
        while hole and hole.last < begin:
            hole = next(rest, None)
        while hole and hole.first <= one.last:
            left += range_between(begin, hole.first)
            begin = hole.last + 1
            if hole.last >= one.last:
                break
            hole = next(rest, None)
        left += range_between(begin, one.last + 1)
    return tuple(left)


def common(ranges: Ranges, others: Ranges) -> Ranges:
    return without(ranges, without(ranges, others))


def count(ranges: Iterable[Range]) -> int:
    return sum(one.count for one in ranges)


def hull(ranges: Ranges) -> Range:
    """The one range from the first to the last of them."""
    return Range(first=ranges[0].first, last=ranges[-1].last)


def show(ranges: Ranges, most: int = 8) -> str:
    shown = ", ".join(str(one) for one in ranges[:most])
    return f"{shown} and {len(ranges) - most} more" if len(ranges) > most else shown
