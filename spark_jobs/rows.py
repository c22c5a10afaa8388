"""From Kafka's records to bronze rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millrace.core.bronze import COLUMNS


def bronze_rows(records: DataFrame, site: str) -> DataFrame:
    """Records as Kafka's source gives them, as the bronze table wants them."""
    now = f.current_timestamp()
    values: dict[str, Column] = {
        "site": f.lit(site),
        "kafka_time": f.col("timestamp"),
        "ingested_at": now,
        # The day of arrival: a device whose clock is wrong makes no days of its own.
        "day": f.to_date(now),
    }
    return records.select(
        *(values.get(name, f.col(name)).cast(kind).alias(name) for name, kind in COLUMNS)
    )
