"""What a relay decides: which topics the target needs, where a partition begins, when it stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from millrace.base.model import Frozen
from millrace.base.ranges import Range, Ranges
from millrace.kafka.core.coordinates import Part
from millrace.provisioning.core.site_rights import CreateTopic, GrowTopic, Topic
from millrace.relay.core.spec import RelaySpec

# Above what sites' topics usually allow; a record above it stops its partition.
MESSAGE_BYTES = 64 * 1024 * 1024
TARGET_SETTINGS = {
    # A record's time stays the site's, also when the site's clock is days ahead.
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": str(2**63 - 1),
    "max.message.bytes": str(MESSAGE_BYTES),
}


# What one transaction holds at most, or little more: it has to get there before it times out, over
# a slow link too, and what a kill takes back should not be much.
TRANSACTION_RECORDS = 30_000
TRANSACTION_BYTES = 16 * 1024 * 1024
_BATCH_RECORDS = 10_000
_BATCH_BYTES = 4 * 1024 * 1024


# What all sites together may have read ahead, and the least that one gets of it.
_PREFETCH_KB, _LEAST_PREFETCH_KB = 64 << 10, 1 << 10


def prefetch_kb(sites: int) -> int:
    """How much is read ahead of a site, of so many."""
    return max(_LEAST_PREFETCH_KB, _PREFETCH_KB // sites)


def batch_records(seen_records: int, seen_bytes: int) -> int:
    """How many records to take at once, by the size of those before."""
    if not seen_bytes:
        return _BATCH_RECORDS
    return max(1, min(_BATCH_RECORDS, _BATCH_BYTES * seen_records // seen_bytes))


class Cause(StrEnum):
    """Why a partition is not relayed any further."""

    OVERTAKEN = "overtaken"
    WENT_BACK = "went back"
    OTHER_LOG = "other log"
    OTHER_TARGET = "other target"
    REFUSED = "refused"


class Halt(Frozen):
    """A partition that waits for a person: to go on would lose something."""

    site: str
    topic: str
    partition: int
    cause: Cause
    text: str
    # The next that would have been brought, and what of it is gone for good.
    offset: int
    lost: Range | None = None

    @property
    def part(self) -> Part:
        return Part(self.site, self.topic, self.partition)

    def way_out(self, relay: str) -> str:
        """The command that agrees to the loss and goes on behind it."""
        place = f"{self.site}/{self.topic}/{self.partition}"
        command = f"millrace relay {relay} --accept-loss {place}"
        match self.cause:
            case Cause.REFUSED:
                return f"to go on without: {command}:{self.offset + 1}"
            case Cause.WENT_BACK | Cause.OTHER_LOG:
                return (
                    f"to go on from the first offset that was not brought, such as"
                    f" {self.offset}: {command}:{self.offset}; to bring all that the site has,"
                    f" what was brought before a second time: {command}"
                )
            case Cause.OTHER_TARGET:
                return f"to bring again all that the site still has: {command}"
        return f"to go on without: {command}"


def plan_topics(
    relay: RelaySpec, site: str, source: Mapping[str, int], target: Mapping[str, int]
) -> Iterator[CreateTopic | GrowTopic]:
    """What makes room at the target for all partitions of a site's topics."""
    for topic, partitions in source.items():
        name = relay.target(site, topic)
        there = target.get(name, 0)
        if not there:
            made = Topic(name=name, partitions=partitions, settings=TARGET_SETTINGS)
            yield CreateTopic(topic=made)
        elif there < partitions:
            yield GrowTopic(topic=name, partitions=partitions, before=there)


def overtaken(part: Part, lost: Ranges) -> Halt:
    (span,) = lost
    text = (
        f"{part}: the site deleted {span}, {span.count:,} offsets, before they could be relayed;"
        " see that its retention outlasts the longest cut"
    )
    return _halt(part, Cause.OVERTAKEN, text, span.first, span)


def went_back(part: Part, stored: int, high: int) -> Halt:
    text = (
        f"{part}: relayed up to offset {stored}, but the site's next is {high}, in the same topic:"
        " its broker lost what it had acknowledged, or was restored to an older state"
    )
    return _halt(part, Cause.WENT_BACK, text, high)


def other_log(part: Part, offset: int) -> Halt:
    text = (
        f"{part}: offset {offset} holds another record than the one that was relayed, in the same"
        " topic: the site's broker was restored to an older state and went on from there"
    )
    return _halt(part, Cause.OTHER_LOG, text, offset)


def other_target(part: Part, stored: int) -> Halt:
    text = (
        f"{part}: relayed up to offset {stored}, but its topic at the target was made anew since:"
        " what was brought is gone there"
    )
    return _halt(part, Cause.OTHER_TARGET, text, stored)


def refused(part: Part, offset: int, reason: str) -> Halt:
    text = (
        f"{part}: the target refuses offset {offset}: {reason}; let its topic take it and start"
        " the relay anew"
    )
    return _halt(part, Cause.REFUSED, text, offset)


def _halt(part: Part, cause: Cause, text: str, offset: int, lost: Range | None = None) -> Halt:
    return Halt(
        site=part.site,
        topic=part.topic,
        partition=part.partition,
        cause=cause,
        text=text,
        offset=offset,
        lost=lost,
    )


class CallVerdict(StrEnum):
    """What is to be done about a failed call of a transaction."""

    CALL_AGAIN = "call again"
    ABORT = "abort"
    END = "end"


def judge(*, retriable: bool, requires_abort: bool) -> CallVerdict:
    """Neither of both is fatal: what was begun by this producer is not ours any more."""
    if retriable:
        return CallVerdict.CALL_AGAIN
    return CallVerdict.ABORT if requires_abort else CallVerdict.END
