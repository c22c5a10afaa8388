"""Continuity decides: which holes in a table are losses, and which were never anything.

Not every missing offset is a missing record: markers of transactions, aborted records and
compacted ones take an offset each and are never read. So a hole counts as a loss only when the
broker still has a record there; where the broker has deleted that stretch, what is known of the
topic decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from millrace.base.model import Frozen
from millrace.base.ranges import Range, Ranges, common, range_between, show, without
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets
from millrace.jobs.core.task_spec import TaskSpec
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.alarms import Alarm, AlarmKind, records_in, replay_command
from millrace.repair.core.backfill_spec import DayRows


class ContinuitySpec(TaskSpec):
    inputs: tuple[SiteInput, ...]
    is_refined: bool
    # Rows of earlier days are not looked at: deleted by `keep`, or not asked for.
    bronze_from: date | None = None
    refined_from: date | None = None
    # A producer's messages may overtake each other on their way through several partitions.
    settle_s: float = 60.0


class PartState(Frozen):
    """One partition: what bronze has of it, and where the stream and the broker are."""

    site: str
    topic: str
    # Empty for the topic that the broker has now.
    topic_id: str = ""
    partition: int
    rows: int
    first: int | None
    last: int | None
    committed: int
    low: int | None = None
    high: int | None = None
    # Holes that the broker has too: markers of transactions, compacted or aborted records.
    empty: Ranges = ()
    # Holes below the broker's oldest record, in a topic that has such markers.
    unproven: Ranges = ()


class ProducerState(Frozen):
    site: str
    producer: str
    epoch: int
    first: int
    last: int
    # Messages that came again: bronze has them, and quarantine instead of silver.
    twins: int = 0


class ContinuityResult(Frozen):
    parts: tuple[PartState, ...]
    days: tuple[DayRows, ...]
    producers: tuple[ProducerState, ...] = ()
    alarms: tuple[Alarm, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not self.alarms


@dataclass(frozen=True)
class Facts:
    """What is known of one partition before the broker is asked about its holes."""

    present: Ranges
    # The next offset the stream will read; 0 before its first batch.
    committed: int
    # Where what has to be there begins at the broker; None: the site does not answer, or has
    # another topic under that name.
    held: HeldOffsets | None
    # The broker answers, and has another topic.
    is_former: bool = False
    # From here on all has to be there, though the broker may have deleted it.
    begins: int | None = None
    # What the broker deleted before the stream, which is not there yet, has read it.
    overtaken: Ranges = ()


def holes(facts: Facts) -> Ranges:
    """Offsets that bronze has not, from the first it should have to the last it should."""
    begins = [facts.present[0].first] if facts.present else []
    if facts.held:
        begins.append(facts.held.low)
    if facts.begins is not None:
        begins.append(facts.begins)
    if not begins:
        return ()
    last = facts.present[-1].last + 1 if facts.present else 0
    behind = without(range_between(min(begins), max(last, facts.committed)), facts.present)
    return (*behind, *facts.overtaken)


def to_ask(facts: Facts) -> Ranges:
    """The holes of which the broker can tell whether there is a record."""
    if facts.held is None:
        return ()
    return common(holes(facts), range_between(facts.held.low, facts.held.high))


@dataclass(frozen=True)
class PartitionVerdict:
    missing: Ranges
    empty: Ranges
    lost: Ranges
    unproven: Ranges


def judge(facts: Facts, at_broker: Ranges, *, has_empty_offsets: bool) -> PartitionVerdict:
    """`has_empty_offsets`: the topic is known to have offsets without a record."""
    asked = to_ask(facts)
    untold = without(holes(facts), asked)
    if facts.held:
        # What was read of it lies behind the end of the topic as it is now.
        untold = without(untold, range_between(facts.held.high, facts.committed))
    is_sure = (facts.held is not None or facts.is_former) and not has_empty_offsets
    return PartitionVerdict(
        missing=common(asked, at_broker),
        empty=without(asked, at_broker),
        lost=untold if is_sure else (),
        unproven=() if is_sure else untold,
    )


def part_alarms(
    pipeline: str, part: Part, facts: Facts, verdict: PartitionVerdict
) -> Iterable[Alarm]:
    subject = str(part)
    if verdict.missing:
        yield Alarm(
            kind=AlarmKind.MISSING,
            subject=subject,
            ranges=verdict.missing,
            text=f"{records_in(verdict.missing)} at the broker and not in bronze",
            command=replay_command(pipeline, part, verdict.missing),
            part=part,
        )
    if verdict.lost:
        yield Alarm(
            kind=AlarmKind.LOST,
            subject=subject,
            ranges=verdict.lost,
            text=f"{records_in(verdict.lost)} not in bronze, and {_gone(facts)}",
        )
    if facts.held and facts.held.high < facts.committed:
        gone = range_between(facts.held.high, facts.committed)
        yield Alarm(
            kind=AlarmKind.REWOUND,
            subject=subject,
            ranges=gone,
            text=f"{show(gone)} were read and the broker's topic ends before them:"
            " its broker came back to an older state of it",
        )


def _gone(facts: Facts) -> str:
    return "deleted with its topic" if facts.is_former else "deleted by the broker"


def producer_gaps(sent: Ranges, settled: Ranges) -> Ranges:
    """Numbers missing between the first and the last that had time to settle."""
    if not settled:
        return ()
    return without((Range(first=sent[0].first, last=settled[-1].last),), sent)


def gaps_between(epochs: Mapping[int, Ranges], settled: Collection[int]) -> dict[int, Ranges]:
    """Numbers below the first of an epoch that came in none before it: a count goes on from one
    epoch to the next, or begins anew."""
    gaps: dict[int, Ranges] = {}
    last: int | None = None
    for epoch, sent in sorted(epochs.items()):
        if last is not None and sent[0].first > last + 1 and epoch in settled:
            gaps[epoch] = (Range(first=last + 1, last=sent[0].first - 1),)
        last = max(sent[-1].last, last or 0)
    return gaps


def topics_with_empty_offsets(empty: Mapping[Part, Ranges]) -> set[tuple[str, str]]:
    return {(part.site, part.topic) for part, ranges in empty.items() if ranges}
