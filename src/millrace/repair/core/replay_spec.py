"""Replay decides: which offsets of a span may be added again, and who else owns the rest.

A pipeline's stream owns every offset from its checkpoint's committed position on. It appends
without looking what is there, so a replay that wrote the same offsets would double them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from pydantic import Field

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.base.ranges import Range, Ranges, count, range_between, without
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets
from millrace.jobs.core.task_spec import TaskSpec
from millrace.kafka.core.coordinates import Part
from millrace.lake.core.refine import RefineSpec

Origin = Literal["kafka", "bronze"]


class ReplayRequest(Frozen):
    """The span: of offsets, both ends included, or of times, the end excluded, or of neither."""

    first: int | None = None
    last: int | None = None
    since: datetime | None = None
    until: datetime | None = None


class ReplaySpec(TaskSpec):
    inputs: tuple[SiteInput, ...]
    # None: all of them.
    partitions: tuple[int, ...] | None = None
    asked: ReplayRequest = ReplayRequest()
    origin: Origin = "kafka"
    dry_run: bool = False
    # None: the pipeline keeps bronze alone.
    refine: RefineSpec | None = None
    # Rows of earlier days are deleted by `keep`, so they are not missed.
    bronze_from: date | None = None
    refined_from: date | None = None


def check_asked(asked: ReplayRequest, parts_named: bool) -> None:
    """Raises MillraceError where the ends do not fit each other."""
    by_offsets = (asked.first, asked.last) != (None, None)
    if by_offsets and (asked.since or asked.until):
        raise MillraceError("a span is of offsets or of times; leave out one kind of option")
    if by_offsets and not parts_named:
        raise MillraceError(
            "offsets count within one partition;"
            " name it with --site, --topic and --partition, one of each"
        )
    if asked.first is not None and asked.last is not None and asked.first > asked.last:
        raise MillraceError(
            f"--from-offset={asked.first} is after --to-offset={asked.last}; exchange them"
        )
    if asked.since and asked.until and asked.since >= asked.until:
        since, until = asked.since.isoformat(), asked.until.isoformat()
        raise MillraceError(f"--from={since} is not before --to={until}; exchange them")


@dataclass(frozen=True)
class OffsetWindow:
    """What was asked for in one partition, as offsets: from `begin` up to, without, `end`.

    None: open. `begin` of a span of times is where its records begin, had none been deleted.
    """

    begin: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class PartPlan:
    """What becomes of one partition's window."""

    # All that the task looks at, and of that what the broker cannot give.
    window: Ranges
    gone: Ranges
    # Asked for, but the stream's to write.
    left: Ranges

    @property
    def to_read(self) -> Ranges:
        begin = self.gone[0].last + 1 if self.gone else self.window[0].first if self.window else 0
        return range_between(begin, self.window[0].last + 1) if self.window else ()


def plan_part(window: OffsetWindow, owned_from: int | None, held: HeldOffsets | None) -> PartPlan:
    """`owned_from`: where the stream's part begins; None where nothing is the stream's, of a window
    that ends. `held`: None when no broker is read.
    """
    low = held.low if held else 0
    begin = low if window.begin is None else window.begin
    ends = [end for end in (window.end, owned_from) if end is not None]
    owned = () if window.end is None or owned_from is None else (max(begin, owned_from), window.end)
    return PartPlan(
        window=range_between(begin, min(ends)),
        gone=range_between(begin, min(low, *ends)),
        left=range_between(*owned) if owned else (),
    )


class PartResult(Frozen):
    """One partition of the span."""

    site: str
    topic: str
    partition: int
    # Empty for the topic that the broker has now.
    topic_id: str = ""
    # None: nothing of the span is the replay's to look at.
    looked_at: Range | None = None
    # Records in the span: at the broker, or in bronze.
    records: int = 0
    missing_bronze: Ranges = ()
    missing_refined: Ranges = ()
    # The broker deleted them, and bronze has them not.
    gone: Ranges = ()
    # From when the stream has yet to write them.
    left: Ranges = ()

    @property
    def part(self) -> Part:
        return Part(self.site, self.topic, self.partition, self.topic_id)


def part_result(part: Part, plan: PartPlan, found: Mapping[str, Ranges]) -> PartResult:
    return PartResult(
        **part._asdict(),
        looked_at=plan.window[0] if plan.window else None,
        records=count(found["records"]),
        missing_bronze=found["missing_bronze"],
        missing_refined=found.get("missing_refined", ()),
        gone=without(plan.gone, found["in_bronze"]),
        left=plan.left,
    )


class ReplayResult(Frozen):
    dry_run: bool
    parts: tuple[PartResult, ...]
    # Rows added, by layer.
    added: dict[str, int] = Field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return not any(part.gone for part in self.parts)

    def missing(self, layer: Literal["bronze", "refined"]) -> int:
        if layer == "bronze":
            return sum(count(part.missing_bronze) for part in self.parts)
        return sum(count(part.missing_refined) for part in self.parts)
