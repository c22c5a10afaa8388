"""Silver and quarantine tables: made, and given the columns that a pipeline's file gained."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from millrace.lake.core import silver
from millrace.lake.core.refine import RefineSpec
from millrace.settings.core.engine import Tables

_COUNTED = "delta.dataSkippingStatsColumns"

log = logging.getLogger(__name__)


def ensure_refined_tables(spark: SparkSession, tables: Tables, spec: RefineSpec) -> None:
    columns = spec.columns
    wanted = silver.silver_schema(columns)
    _ensure(spark, tables.silver, wanted, silver.silver_properties(columns))
    _ensure(spark, tables.quarantine, silver.QUARANTINE, silver.QUARANTINE_PROPERTIES)


def _ensure(
    spark: SparkSession, table: str, wanted: silver.Schema, properties: Mapping[str, str]
) -> None:
    if not DeltaTable.isDeltaTable(spark, table):
        _create(spark, table, wanted, properties)
        log.info("table %s: created", table)
        return
    fields = spark.read.format("delta").load(table).schema.fields
    existing = [(field.name, field.dataType.simpleString()) for field in fields]
    added = silver.plan_new_columns(table, existing, wanted)
    if added:
        spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS ({_ddl(added)})")
        log.info("table %s: columns added: %s", table, ", ".join(name for name, _ in added))
    _count_also(spark, table, properties[_COUNTED].split(","))


def _count_also(spark: SparkSession, table: str, wanted: Sequence[str]) -> None:
    """Files have bounds of the columns that a property names, not of those that were added."""
    detail = DeltaTable.forPath(spark, table).detail().first()
    counted = detail.properties.get(_COUNTED) if detail else None
    names = counted.split(",") if counted else []
    # Without the property Delta counts the first 32 columns.
    if missing := [name for name in wanted if names and name not in names]:
        value = ",".join([*names, *missing])
        spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{_COUNTED}' = '{value}')")
        log.info("table %s: bounds kept of: %s", table, ", ".join(missing))


def _create(
    spark: SparkSession, table: str, schema: silver.Schema, properties: Mapping[str, str]
) -> None:
    kept = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{table}` ({_ddl(schema)}) USING delta"
        f" PARTITIONED BY ({', '.join(silver.PARTITION_BY)}) TBLPROPERTIES ({kept})"
    )


def _ddl(schema: silver.Schema) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in schema)
