"""What verify found, in lines for people."""

from __future__ import annotations

from millrace.base.ranges import count
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.verify_spec import ContinuityResult, PartState


def result_lines(result: ContinuityResult) -> list[str]:
    lines = [_part_line(part) for part in result.parts]
    lines += [
        f"{one.producer} ({one.epoch}): {one.twins} messages came again; silver has each once"
        for one in result.producers
        if one.twins
    ]
    for alarm in result.alarms:
        lines.append(f"ALARM {alarm.name}: {alarm.text}")
        if alarm.command:
            lines.append(f"  put right by: {alarm.command}")
    rows = sum(part.rows for part in result.parts)
    end = f"{len(result.alarms)} alarms" if result.alarms else "whole: nothing missing or doubled"
    return [*lines, f"{rows} records in {len(result.parts)} partitions; {end}"]


def _part_line(part: PartState) -> str:
    where = Part(part.site, part.topic, part.partition, part.topic_id)
    span = f"[{part.first}..{part.last}]" if part.rows else "nothing yet"
    broker = "no answer" if part.low is None else f"{part.low} to {part.high}"
    if part.topic_id:
        broker = "has another topic of that name"
    notes = {
        "offsets without a record": count(part.empty),
        "offsets that nobody can tell any more": count(part.unproven),
    }
    extra = "".join(f"; {number} {what}" for what, number in notes.items() if number)
    return f"{where}  {part.rows} records {span}, job at {part.committed}, broker {broker}{extra}"
