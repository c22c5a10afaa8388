"""Messages that their producers numbered, and said so in headers."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millrace.kafka.core.header_names import EPOCH, PRODUCER, SEQUENCE
from millrace.lake.core.silver import COORDINATES

IDENTITY = ("site", "producer", "epoch")


def numbered(bronze: DataFrame, *more: Column) -> DataFrame:
    """With coordinates, identity and number; others are left out. `more`: of bronze's columns."""
    rows = bronze.where(f.col("headers").isNotNull()).select(
        *COORDINATES,
        "kafka_time",
        "ingested_at",
        _header(PRODUCER).alias("producer"),
        _number(EPOCH).alias("epoch"),
        _number(SEQUENCE).alias("number"),
        *more,
    )
    return rows.where("producer IS NOT NULL AND epoch IS NOT NULL AND number >= 0")


def _header(name: str) -> Column:
    named = f.filter("headers", lambda header: header["key"] == name)
    return f.get(named, 0)["value"].cast("string")


def _number(name: str) -> Column:
    return _header(name).try_cast("bigint")
