"""What a replay found and did, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.base.ranges import Ranges, count, show
from millrace.repair.core.replay_spec import Origin, PartResult, ReplayResult


def result_lines(result: ReplayResult, origin: Origin) -> list[str]:
    lines = []
    for part in result.parts:
        lines += [_part_line(part), *(f"  {line}" for line in _details(part))]
    return [*lines, _summary(result, origin)]


def _part_line(part: PartResult) -> str:
    span = f"{part.looked_at} {part.records} records" if part.looked_at else "nothing to look at"
    return f"{part.part}  {span}"


def _details(part: PartResult) -> Iterator[str]:
    yield from _listed("missing in bronze", part.missing_bronze)
    yield from _listed("missing in silver and quarantine", part.missing_refined)
    yield from _listed("gone: deleted by the broker, and not in bronze", part.gone)
    yield from _listed("left to the running job", part.left)


def _listed(what: str, ranges: Ranges) -> Iterator[str]:
    if ranges:
        yield f"{what}: {count(ranges)} {show(ranges)}"


def _summary(result: ReplayResult, origin: Origin) -> str:
    lost = "" if result.is_complete else "; INCOMPLETE: some offsets are gone"
    missing = result.missing("bronze") + result.missing("refined")
    if not missing:
        return f"nothing is missing{lost}"
    if result.dry_run:
        layers = {
            "bronze": result.missing("bronze") if origin == "kafka" else 0,
            "silver and quarantine": result.missing("refined"),
        }
        return f"would add {_counts(layers)}{lost}"
    return f"added {_counts(result.added)}{lost}"


def _counts(rows: dict[str, int]) -> str:
    return (
        ", ".join(f"{number} to {layer}" for layer, number in rows.items() if number) or "nothing"
    )
