"""The page of results, with the raw numbers and the ratios beside them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.latency import Latency
from benchmarks.stands.measure import Result

_HEAD = """# Benchmarks

Written by `make bench-full`. All contestants read the same messages of 250 bytes of JSON from one
broker with TLS and passwords, one after the other, on the same {cores} cores ({machine}, {day}),
where the broker runs too. The first {warm:,} messages warm everybody up; rates and CPU seconds are
of the {rows:,} after these. `wall` is from the start of the process to the last of all messages, so
it shows what a start costs. `stolen` is the share of the cores that the machine's host gave to
others meanwhile: everything suffers from it, so all of them get as many turns as `turns` has rates,
and the rest of a line is of the fastest. A ratio above 1 says that we are faster, or need less CPU.

| who | |
|---|---|
| millrace | the job as it is, in one pass; silver means quarantine too, and 9 rules |
| two-hops | our own pieces as two streaming queries, silver by one that reads bronze |
| delta-rs-*n* | confluent-kafka, pyarrow or polars, and delta-rs in *n* processes; nothing judged |
| spark-docs | Spark and Delta as their documentation shows them; nothing judged |

"""


def render(
    rows: int,
    warm: int,
    results: Sequence[Result],
    limits: dict[str, float],
    latencies: Sequence[Latency],
) -> str:
    layers = [
        _throughput(layer, [r for r in results if r.name.startswith(layer)])
        for layer in ("bronze", "silver")
    ]
    parts = [_head(rows, warm), *layers, _limits(limits), _latency(latencies)]
    return "\n".join(part for part in parts if part) + "\n"


def _head(rows: int, warm: int) -> str:
    return _HEAD.format(
        rows=rows,
        warm=warm,
        cores=len(os.sched_getaffinity(0)),
        machine=f"{platform.system()} {platform.machine()}",
        day=datetime.now(UTC).date(),
    )


def _throughput(layer: str, results: Sequence[Result]) -> str:
    if not results:
        return ""
    fastest = {one.name: one for one in sorted(results, key=lambda one: one.warm_rows_per_s)}
    best = [fastest[name] for name in dict.fromkeys(one.name for one in results)]
    own = next((one for one in best if "millrace" in one.name), best[0])
    ours, cpu_s = own.warm_rows_per_s, own.cpu_s_per_million
    lines = [
        f"## {layer}\n",
        "| who | rows/s | ratio | CPU s per million rows | ratio | wall s | peak MB | stolen"
        " | turns, rows/s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.name} | {one.warm_rows_per_s:,.0f} | {ours / one.warm_rows_per_s:.2f}"
        f" | {one.cpu_s_per_million:.1f} | {one.cpu_s_per_million / cpu_s:.2f}"
        f" | {one.wall_s:.1f} | {one.peak_mb:.0f} | {one.stolen:.0%}"
        f" | {_turns(one.name, results)} |"
        for one in best
    ]
    return "\n".join(lines) + "\n"


def _turns(name: str, results: Sequence[Result]) -> str:
    return ", ".join(f"{one.warm_rows_per_s:,.0f}" for one in results if one.name == name)


def _limits(limits: dict[str, float]) -> str:
    if not limits:
        return ""
    read, written = (limits["rows"] / limits[key] for key in ("read_s", "write_s"))
    return (
        "## Limits\n\n"
        f"Reading the topic without writing, one confluent-kafka process: {read:,.0f} rows/s.\n"
        f"Writing Parquet from memory, pyarrow: {written:,.0f} rows/s.\n"
    )


def _latency(latencies: Sequence[Latency]) -> str:
    if not latencies:
        return ""
    lines = [
        "## From sent to readable, at 10,000 messages a second and a trigger of 0.5 s\n",
        "| run | table | p50 ms | p95 ms | p99 ms | max ms | cores used | peak MB |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.name} | {one.layer} | {one.p50_ms:.0f} | {one.p95_ms:.0f} | {one.p99_ms:.0f}"
        f" | {one.max_ms:.0f} | {one.cores:.2f} | {one.peak_mb:.0f} |"
        for one in latencies
    ]
    return "\n".join(lines) + "\n"
