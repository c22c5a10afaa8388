"""The peer without Spark: confluent-kafka, pyarrow or polars, and delta-rs.

python -m benchmarks.contestants.delta_rs RACE.json: one process reads its partitions to the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition
from deltalake import write_deltalake

_ROWS_PER_COMMIT = 250_000
_FETCHED_AT_ONCE = 100_000
BRONZE = pa.schema(
    [
        ("site", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("kafka_time", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("value", pa.binary()),
        ("ingested_at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
    ]
)
_READING = pl.Struct(
    {"sensor_id": pl.String, "timestamp": pl.Int64, "temperature": pl.Float64, "unit": pl.String}
)


def run(race: dict[str, Any]) -> None:
    consumer = Consumer({**race["client"], "group.id": "app-peer", "fetch.min.bytes": 100_000})
    consumer.assign([TopicPartition("readings", number, 0) for number in race["partitions"]])
    left = race["rows"]
    while left:
        batch = read_batch(consumer, min(left, _ROWS_PER_COMMIT))
        left -= len(batch)
        rows = as_bronze(batch)
        write_deltalake(race["bronze"], rows, mode="append")
        if race["silver"]:
            write_deltalake(race["silver"], as_silver(rows), mode="append")


def read_batch(consumer: Consumer, rows: int) -> list[Message]:
    batch: list[Message] = []
    while len(batch) < rows:
        batch += consumer.consume(min(_FETCHED_AT_ONCE, rows - len(batch)), timeout=1.0)
    return batch


def as_bronze(batch: list[Message]) -> pa.Table:
    now = int(time.time() * 1_000_000)
    times = pa.array([m.timestamp()[1] for m in batch], pa.timestamp("ms", "UTC"))
    count = len(batch)
    columns = [
        pa.array(["arena"] * count),
        pa.array([m.topic() for m in batch]),
        pa.array([m.partition() for m in batch], pa.int32()),
        pa.array([m.offset() for m in batch], pa.int64()),
        times.cast(pa.timestamp("us", "UTC")),
        pa.array([m.key() for m in batch], pa.binary()),
        pa.array([m.headers() for m in batch], BRONZE.field("headers").type),
        pa.array([m.value() for m in batch], pa.binary()),
        pa.array([now] * count, pa.timestamp("us", "UTC")),
        times.cast(pa.date32()),
    ]
    return pa.table(columns, schema=BRONZE)


def as_silver(rows: pa.Table) -> pa.Table:
    """Typed, with the message beside it as text; nothing is judged."""
    frame = pl.from_arrow(rows)
    text = pl.col("value").cast(pl.String)
    typed = frame.with_columns(text.alias("payload"), text.str.json_decode(_READING).alias("m"))
    measured = pl.col("m").struct.field("timestamp").cast(pl.Datetime("ms", "UTC"))
    return typed.select(
        *("site", "topic", "partition", "offset", "kafka_time"),
        pl.min_horizontal(measured.cast(pl.Datetime("us", "UTC")), "kafka_time").alias(
            "event_time"
        ),
        pl.col("m").struct.field("sensor_id"),
        measured.cast(pl.Datetime("us", "UTC")).alias("measured_at"),
        pl.col("m").struct.field("temperature").alias("value"),
        pl.col("m").struct.field("unit"),
        "payload",
        (pl.col("ingested_at") - measured).dt.total_milliseconds().alias("latency_ms"),
        *("ingested_at", "day"),
    ).to_arrow()


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
