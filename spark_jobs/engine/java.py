"""The doors from PySpark's objects to Java's, which PySpark keeps to itself."""

from __future__ import annotations

from py4j.java_gateway import JavaObject, JVMView
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession


def jvm(spark: SparkSession) -> JVMView:
    """All of Java's classes, by their full names; ours are below `millrace`."""
    return spark.sparkContext._jvm  # noqa: SLF001


def java_session(spark: SparkSession) -> JavaObject:
    return spark._jsparkSession  # noqa: SLF001


def java_rows(rows: DataFrame) -> JavaObject:
    return rows._jdf  # noqa: SLF001


def java_column(column: Column) -> JavaObject:
    return column._jc  # noqa: SLF001


def delta_log(spark: SparkSession, table: str) -> JavaObject:
    return jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(java_session(spark), table)


def error_text(error: Exception) -> str:
    """With all its causes, whatever of them PySpark tells by itself."""
    stack = getattr(error, "_stackTrace", "") if isinstance(error, PySparkException) else ""
    return f"{error}\n{stack}"
