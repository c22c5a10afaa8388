"""A table's rows, or a clear word that there is no such table."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from millrace.base.errors import MillraceError


def read_table(spark: SparkSession, location: str) -> DataFrame:
    if not DeltaTable.isDeltaTable(spark, location):
        raise MillraceError(
            f"there is no table at {location} yet; the pipeline's provision task makes bronze,"
            " and its job makes silver and quarantine when it starts"
        )
    return spark.read.format("delta").load(location)
