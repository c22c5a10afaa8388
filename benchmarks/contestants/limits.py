"""What nobody can be faster than: reading without writing, and writing without reading.

python -m benchmarks.contestants.limits RACE.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Consumer, TopicPartition

from benchmarks.contestants.delta_rs import as_bronze, read_batch


def run(race: dict[str, Any]) -> dict[str, float]:
    consumer = Consumer({**race["client"], "group.id": "app-limit", "fetch.min.bytes": 100_000})
    consumer.assign([TopicPartition("readings", number, 0) for number in race["partitions"]])
    read_batch(consumer, 1)
    rows = race["rows"] - 1
    began, cpu = time.monotonic(), time.process_time()
    batch = read_batch(consumer, rows)
    read_s, read_cpu_s = time.monotonic() - began, time.process_time() - cpu
    table = as_bronze(batch)
    began, cpu = time.monotonic(), time.process_time()
    pq.write_table(table, race["file"])
    write_s, write_cpu_s = time.monotonic() - began, time.process_time() - cpu
    return {
        "rows": rows,
        "read_s": read_s,
        "read_cpu_s": read_cpu_s,
        "write_s": write_s,
        "write_cpu_s": write_cpu_s,
    }


if __name__ == "__main__":
    print(json.dumps(run(json.loads(Path(sys.argv[1]).read_text()))))  # noqa: T201 - its result
