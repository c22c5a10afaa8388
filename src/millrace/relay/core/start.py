"""Where a partition goes on, or why it does not: by what was brought, and what is there now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from millrace.base.model import Frozen
from millrace.base.ranges import range_between
from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Position, TopicIds
from millrace.relay.core.relay_plan import Halt, other_log, other_target, overtaken, went_back


class ReadStart(NamedTuple):
    """`read_from` may be the last record that was brought: it must be the same still."""

    position: Position
    read_from: int
    # It is written down before the first record.
    is_new: bool = False


def begin(
    part: Part, before: Position | None, origin: TopicIds, low: int, high: int
) -> ReadStart | Halt:
    """`low` and `high`: what the site has now, and its next offset."""
    if before is None:
        return ReadStart(Position(origin.topic_id, low, origin.target_id), low, is_new=True)
    if before.target_id != origin.target_id:
        return other_target(part, before.offset)
    if before.topic_id != origin.topic_id:
        return _begin_anew(part, origin, low)
    if before.offset < low:
        return overtaken(part, range_between(before.offset, low))
    if before.offset > high:
        return went_back(part, before.offset, high)
    last = before.last
    return ReadStart(before, last.offset if last and last.offset >= low else before.offset)


def _begin_anew(part: Part, origin: TopicIds, low: int) -> ReadStart | Halt:
    """The topic is another one: nothing of it was brought, whatever its offsets are."""
    if low > 0:
        return overtaken(part, range_between(0, low))
    return ReadStart(Position(origin.topic_id, 0, origin.target_id), 0, is_new=True)


def check_first(part: Part, begun: Position, offset: int, print_: int) -> Halt | None:
    """Of the first record after a start: is this the log that was brought up to there?"""
    last = begun.last
    if last and offset == last.offset:
        return None if print_ == last.print else other_log(part, offset)
    return None if offset >= begun.offset else other_log(part, offset)


class Renewal(Frozen):
    """A topic was made anew at its site; the relay brings the new one from its beginning."""

    site: str
    topic: str
    topic_id: str
    text: str


def renewed(site: str, topic: str, topic_id: str, before: Mapping[int, Position]) -> Renewal:
    """`before`: what was brought of topics of this name."""
    old = {number: one for number, one in before.items() if one.topic_id != topic_id}
    ends = ", ".join(f"{number}: {one.offset}" for number, one in sorted(old.items()))
    text = (
        f"{site}/{topic}: the topic was made anew at its site (id {topic_id}), and is brought from"
        f" its beginning; the old one was brought up to these offsets of its partitions: {ends};"
        " what it had behind them is gone"
    )
    return Renewal(site=site, topic=topic, topic_id=topic_id, text=text)
