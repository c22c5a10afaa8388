"""The relay's part of the page of results."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.relay import Delay, Haul

_HEAD = """## Relay, beside MirrorMaker 2

From a site of one broker to a cluster of three with three copies, all on the same cores; everybody
exactly once, one after the other. `first` and `wall` are from the start of the process to the first
and to the last record at the target, of a backlog of {rows:,}; the rate is between a fifth and nine
tenths of it, so without start and end, and so is the processor that everybody takes for a million
records, and that all four brokers take meanwhile. Afterwards every target is read and counted. A
ratio above 1 says that the relay is faster, or needs less processor.

| who | |
|---|---|
| relay | as it is, with a header of its own on each record |
| mirror-maker-2-tuned | with large polls, fetches and batches and lz4 |
| mirror-maker-2 | as it comes, with exactly-once switched on |

"""


def render(hauls: Sequence[Haul], delays: Sequence[Delay]) -> str:
    if not hauls:
        return ""
    return _HEAD.format(rows=hauls[0].rows) + _hauls(hauls) + "\n" + _delays(delays)


def _hauls(hauls: Sequence[Haul]) -> str:
    ours = hauls[0]
    lines = [
        "| who | records/s | ratio | CPU s per million | ratio | the brokers' | first s | wall s"
        " | ratio | peak MB | stolen |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.name} | {one.rows_per_s:,.0f} | {ours.rows_per_s / one.rows_per_s:.2f}"
        f" | {one.cpu_s_per_million:.1f} | {one.cpu_s_per_million / ours.cpu_s_per_million:.2f}"
        f" | {one.brokers_s_per_million:.1f} | {one.first_s:.1f}"
        f" | {one.wall_s:.1f} | {one.wall_s / ours.wall_s:.2f}"
        f" | {one.peak_mb:.0f} | {one.stolen:.0%} |"
        for one in hauls
    ]
    return "\n".join(lines) + "\n"


def _delays(delays: Sequence[Delay]) -> str:
    lines = [
        f"What a reader at the target waits longer than one at the source, at {delays[0].rate:,}"
        " records a second:\n",
        "| who | p50 ms | p99 ms | max ms | cores used |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.name} | {one.p50_ms:.0f} | {one.p99_ms:.0f} | {one.max_ms:.0f} | {one.cores:.2f} |"
        for one in delays
    ]
    return "\n".join(lines) + "\n"
