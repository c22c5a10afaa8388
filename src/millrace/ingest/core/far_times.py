"""Records whose times Spark's own reader cannot convert.

It counts a record's milliseconds in microseconds, in 64 bits, before anything of ours sees the
record, and its error names no record. So the broker is asked: it finds records by their times, and
therefore none of a time as far before 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millrace.base.errors import MillraceError
from millrace.base.ranges import Range
from millrace.ingest.core.lag import Offsets, Partition
from millrace.ingest.core.restored import Stamps
from millrace.kafka.core.coordinates import Part

# The last that Spark's own reader converts.
SPARKS_LAST_MS = (2**63 - 1) // 1_000
WAY_OUT = (
    "Write 'reader: millrace' under 'engine' in infra/local.yaml until that record is read:"
    " Millrace's reader keeps it, and silver refuses it"
)

Spans = Mapping[Partition, Range]


class FarTimeError(MillraceError):
    def __init__(self, pipeline: str, records: Iterable[str], spans: Mapping[Part, Range]) -> None:
        listed = "; ".join(records)
        where = (
            f"The first such record of each partition: {listed}"
            if listed
            else f"The broker does not say which record it is; these were read: {_listed(spans)}"
        )
        super().__init__(
            f"pipeline {pipeline!r}: Spark's own reader cannot convert the time of a record, and"
            f" nothing was written. {WAY_OUT}. {where}"
        )


def candidates(spans: Spans, firsts: Offsets) -> dict[Partition, int]:
    """Of each partition's first record that far ahead, those that the spans have."""
    return {
        part: offset
        for part, offset in firsts.items()
        if part in spans and spans[part].first <= offset <= spans[part].last
    }


def far_records(spans: Spans, stamps: Stamps) -> dict[Partition, tuple[int, int]]:
    """Offset and time of those that are what they were taken for.

    A broker finds records of aborted transactions too, which no reader is given: the record that
    comes in their place may be an ordinary one.
    """
    return {
        part: (offset, time_ms)
        for part, (offset, time_ms) in stamps.items()
        if time_ms > SPARKS_LAST_MS and offset <= spans[part].last
    }


def described(stamps: Stamps) -> list[str]:
    return [
        f"topic {topic!r}, partition {number}, offset {offset} has the time {time_ms} (in"
        " milliseconds since 1970)"
        for (topic, number), (offset, time_ms) in sorted(stamps.items())
    ]


def _listed(spans: Mapping[Part, Range]) -> str:
    return "; ".join(
        f"site {part.site!r}, topic {part.topic!r}, partition {part.partition}, offsets"
        f" {span.first} to {span.last}"
        for part, span in sorted(spans.items())
    )
