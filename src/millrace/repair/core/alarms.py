"""What is wrong with a pipeline's tables, where exactly, and what puts it right."""

from __future__ import annotations

from enum import StrEnum

from millrace.base.model import Frozen
from millrace.base.ranges import Range, Ranges, count, show
from millrace.kafka.core.coordinates import Part


class AlarmKind(StrEnum):
    MISSING = "missing"  # at the broker, not in bronze
    LOST = "lost"  # in bronze never, at the broker no more
    REWOUND = "rewound"  # the broker's topic ends before what was read of it
    UNREACHABLE = "unreachable"  # the site does not answer, so nothing is proven
    DOUBLED = "doubled"  # more than once in one table
    UNREFINED = "unrefined"  # in bronze, in neither silver nor quarantine
    IN_BOTH = "in-both"  # in silver and in quarantine
    ORPHANED = "orphaned"  # in silver or quarantine, not in bronze
    SEQUENCE = "sequence"  # a producer's own numbers have a gap
    FORKED = "forked"  # a producer gave a number to two messages


class Alarm(Frozen):
    kind: AlarmKind
    # Of what: a site, a partition, a producer.
    subject: str
    ranges: Ranges = ()
    text: str
    # What puts it right, where a command does.
    command: str | None = None
    # Where a replay would.
    part: Part | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.subject}"


def sequence_alarm(site: str, producer: str, epoch: int, gaps: Ranges) -> Alarm:
    return Alarm(
        kind=AlarmKind.SEQUENCE,
        subject=f"{site}/{producer}/{epoch}",
        ranges=gaps,
        text=f"{count(gaps)} messages that the producer numbered never came: {show(gaps)}",
    )


def forked_alarm(site: str, producer: str, epoch: int, numbers: int, among: Range) -> Alarm:
    return Alarm(
        kind=AlarmKind.FORKED,
        subject=f"{site}/{producer}/{epoch}",
        ranges=(among,),
        text=f"{numbers} numbers in {show((among,))} stand for two messages each: two lives of one"
        " producer, as after a restored backup or a cloned disk; silver has the first of each,"
        " quarantine the second (stage 'twin')",
    )


_DISAGREEMENTS = {
    AlarmKind.UNREFINED: "in bronze, and in neither silver nor quarantine",
    AlarmKind.IN_BOTH: "in silver and in quarantine",
    AlarmKind.ORPHANED: "in silver or quarantine, and not in bronze",
}


def disagreement_alarm(pipeline: str, kind: AlarmKind, part: Part, ranges: Ranges) -> Alarm:
    """`kind`: unrefined, in both, or orphaned."""
    command = replay_command(pipeline, part, ranges)
    commands = {AlarmKind.UNREFINED: f"{command} --source bronze"}
    if not part.topic_id:
        # What was at a former topic, no broker can give again.
        commands[AlarmKind.ORPHANED] = command
    is_replayed = kind in commands
    return Alarm(
        kind=kind,
        subject=str(part),
        ranges=ranges,
        text=f"{records_in(ranges)} {_DISAGREEMENTS[kind]}",
        command=commands.get(kind),
        part=part if is_replayed else None,
    )


def doubles_alarm(layer: str, part: Part, ranges: Ranges) -> Alarm:
    return Alarm(
        kind=AlarmKind.DOUBLED,
        subject=f"{layer}/{part}",
        ranges=ranges,
        text=f"{records_in(ranges)} more than once in {layer}",
    )


def replay_command(pipeline: str, part: Part, ranges: Ranges) -> str:
    return (
        f"millrace replay {pipeline} --site {part.site} --topic {part.topic}"
        f" --partition {part.partition}"
        f" --from-offset {ranges[0].first} --to-offset {ranges[-1].last}"
    )


def unreachable_alarm(site: str, reason: str) -> Alarm:
    text = f"site {site!r} does not answer, so nothing is proven of its topics: {reason}"
    return Alarm(kind=AlarmKind.UNREACHABLE, subject=site, text=text)


def records_in(ranges: Ranges) -> str:
    number = count(ranges)
    return f"{number} record{'' if number == 1 else 's'} {show(ranges)}"
