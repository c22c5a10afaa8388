"""What a table's commits cost many sites of one job: python -m benchmarks.many_writers [SITES ...].

So many writers at once, as the queries of a job are: each commits a batch of one file that is
written already, waits for the table's answer, and has the next one ready. Runs in the lake
environment.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from millrace.lake.core import bronze
from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.append import Output, Written, WrittenBatch, write
from spark_jobs.engine.session import build_session

CHECKOUT = Path(__file__).resolve().parents[1]
JARS = tuple(CHECKOUT / ".jars" / name for name in ("spark", "jvm"))
# For so many commits in all, but not fewer than two a writer.
_BATCHES = 200
_WARM_UP = 30
_KEEP = {"delta.deletedFileRetentionDuration": "interval 2 days"}


@dataclass(frozen=True)
class Cost:
    writers: int
    batches_per_s: float
    p50_ms: float
    p95_ms: float
    # Of the table, for so many batches.
    versions: int
    batches: int


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [1, 100, 300]
    session = build_session("many-writers", EngineSpec(memory="768m", class_path=JARS))
    report = Table("sites at once", "batches/s", "p50 ms", "p95 ms", "batches a version")
    with tempfile.TemporaryDirectory(prefix="millrace-writers-") as home:
        commits(session, Path(home, "warm"), 1, _WARM_UP)
        for count in counts:
            cost = commits(session, Path(home, str(count)), count, max(2, _BATCHES // count))
            report.add_row(
                str(count),
                f"{cost.batches_per_s:,.1f}",
                f"{cost.p50_ms:,.0f}",
                f"{cost.p95_ms:,.0f}",
                f"{cost.batches / cost.versions:,.1f}",
            )
    session.stop()
    Console().print(report)


def commits(session: SparkSession, table: Path, writers: int, each: int) -> Cost:
    make(session, table)
    rows = session.sql(
        "SELECT 'plant' site, 'readings' topic, 'id' topic_id, 0 partition, 0L offset,"
        " current_timestamp() kafka_time, cast('k' as binary) key,"
        " cast(null as array<struct<key:string,value:binary>>) headers,"
        " cast(repeat('v', 250) as binary) value, current_timestamp() ingested_at,"
        " current_date() day"
    )
    ready = [[written(rows, str(table)) for _ in range(each)] for _ in range(writers)]
    before, start = versions(table), Barrier(writers + 1)

    def run(writer: int) -> list[float]:
        start.wait()
        took_ms = []
        for number, one in enumerate(ready[writer]):
            began = time.monotonic()
            one.commit(str(table), WrittenBatch(f"site-{writer}", number))
            took_ms.append((time.monotonic() - began) * 1000)
        return took_ms

    with ThreadPoolExecutor(writers) as pool:
        running = [pool.submit(run, writer) for writer in range(writers)]
        start.wait()
        began = time.monotonic()
        took_ms = [one for writer in running for one in writer.result()]
        wall_s = time.monotonic() - began
    tenths = statistics.quantiles(took_ms, n=20)
    made = versions(table) - before
    return Cost(writers, len(took_ms) / wall_s, tenths[9], tenths[18], made, len(took_ms))


def make(session: SparkSession, table: Path) -> None:
    """As provisioning makes bronze."""
    columns = ", ".join(f"`{name}` {kind}" for name, kind in bronze.COLUMNS)
    kept = ", ".join(f"'{key}' = '{value}'" for key, value in (bronze.PROPERTIES | _KEEP).items())
    session.sql(
        f"CREATE TABLE delta.`{table}` ({columns}) USING delta"
        f" PARTITIONED BY ({', '.join(bronze.PARTITION_BY)}) TBLPROPERTIES ({kept})"
    )


def written(rows: DataFrame, table: str) -> Written:
    names = [name for name, _ in bronze.COLUMNS]
    return write(rows, [Output(table, names, names)])


def versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


if __name__ == "__main__":
    main()
