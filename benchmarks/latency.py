"""How long a message is on its way, from before it is sent until a reader of the table sees it."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from benchmarks.stands.arena import CHECKOUT, Arena
from benchmarks.stands.measure import CommitWatch
from benchmarks.throughput import CONTROL, LAKE, running, until
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.jobs.io.mailbox import Mailbox
from millrace.lake.io.tables import ensure_bronze
from millrace.pipelines.io.refining import load_refine

RATE = 10_000
_QUANTILES = (0.5, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Latency:
    name: str
    layer: str
    messages: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    cores: float
    peak_mb: float


def measure(
    arena: Arena, name: str, trigger_s: float, *, silver: bool, warm_s: int, for_s: int
) -> list[Latency]:
    pipeline = arena.pipeline(name, silver=silver)
    refine = load_refine(arena.layout, pipeline) if silver else None
    job = plan_ingest(pipeline, [arena.site], arena.layout, refine)
    job = job.model_copy(update={"generation": 1, "trigger_s": trigger_s})
    ensure_bronze(Path(job.tables.bronze))
    Mailbox(job.mailbox).write_job(job)
    command = [str(LAKE), "-m", "spark_jobs.ingest.ingest", Mailbox(job.mailbox).job_file]
    watches = {"bronze": CommitWatch(Path(job.tables.bronze))}
    if silver:
        watches["silver"] = CommitWatch(Path(job.tables.silver))
    with running([command], arena.layout.var / f"{name}.log") as (_, meter):
        begin, end = _send_and_watch(arena, watches, warm_s, for_s)
        cores = meter.cpu_between(begin, end) / (end - begin)
    return [
        _latency(name, layer, watch, begin, end, cores, meter.peak_mb)
        for layer, watch in watches.items()
    ]


def _send_and_watch(
    arena: Arena, watches: dict[str, CommitWatch], warm_s: int, for_s: int
) -> tuple[float, float]:
    """Returns between which moments what was sent counts."""
    seconds = warm_s + for_s
    arguments = [str(arena.layout.home), arena.site.bootstrap, str(RATE), str(seconds)]
    sender = subprocess.Popen([CONTROL, "-m", "benchmarks.stands.sender", *arguments], cwd=CHECKOUT)
    begin = time.time() + warm_s
    end = begin + for_s

    def is_over() -> bool:
        for watch in watches.values():
            watch.look()
        last = min((w.commits[-1].at if w.commits else 0) for w in watches.values())
        return sender.poll() is not None and last > end

    try:
        until(is_over, "not all that was sent was seen", poll_s=0.005)
    finally:
        sender.kill()
        sender.wait()
    return begin, end - 2


def read_column(file: str, name: str) -> pl.DataFrame:
    """By pyarrow: polars opens no file that holds a variant, whatever column is asked for."""
    frame = pl.from_arrow(pq.ParquetFile(file).read([name]))
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _latency(
    name: str,
    layer: str,
    watch: CommitWatch,
    begin: float,
    end: float,
    cores: float,
    peak_mb: float,
) -> Latency:
    sent = pl.col("measured_at").dt.epoch("ms")
    if layer == "bronze":
        field = pl.Struct({"timestamp": pl.Int64})
        decoded = pl.col("value").cast(pl.String).str.json_decode(field)
        sent = decoded.struct.field("timestamp")
    frames = [
        read_column(file, "value" if layer == "bronze" else "measured_at")
        .select(sent.alias("sent"))
        .filter(pl.col("sent").is_between(begin * 1000, end * 1000))
        .select((at * 1000 - pl.col("sent")).alias("ms"))
        for at, file in watch.files
        if begin < at
    ]
    ms = pl.concat(frames)["ms"]
    p50, p95, p99, worst = (float(ms.quantile(q) or 0) for q in _QUANTILES)
    return Latency(name, layer, len(ms), p50, p95, p99, worst, cores, peak_mb)
