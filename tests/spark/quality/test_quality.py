"""The batch check on a real silver table: which rows, which verdict, what is written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from millrace.expectations.core.compiled import judged_columns
from millrace.expectations.io.suite_files import load_suite
from millrace.lake.core.columns import Column
from millrace.lake.core.silver import PARTITION_BY, silver_properties, silver_schema
from millrace.quality.core.commit_span import VersionError
from millrace.quality.core.quality_task import QualityResult, QualitySpec
from millrace.settings.core.engine import EngineSpec, Tables
from spark_jobs.quality.quality import check_quality
from spark_jobs.quality.suite_run import read_suite

DECLARED = tuple(
    Column(name=name, type=kind, path=(name,), required=False)
    for name, kind in (
        ("sensor_id", "string"),
        ("measured_at", "timestamp"),
        ("value", "double"),
        ("unit", "string"),
    )
)
COLUMNS = judged_columns(DECLARED)
NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)
EXAMPLE = Path(__file__).parents[3] / "expectations" / "silver_temperature.json"
# One of each kind that only the batch job judges, all of them met by the rows below.
ON_BATCHES: dict[str, dict[str, Any]] = {
    "expect_table_row_count_to_equal": {"value": 3},
    "expect_table_row_count_to_be_between": {"min_value": 1},
    "expect_column_to_exist": {"column": "value"},
    "expect_column_values_to_be_unique": {"column": "offset"},
    "expect_compound_columns_to_be_unique": {"column_list": ["site", "offset"]},
    "expect_column_min_to_be_between": {"column": "value", "min_value": -5},
    "expect_column_max_to_be_between": {"column": "value", "max_value": 25},
    "expect_column_mean_to_be_between": {"column": "value", "min_value": 20, "max_value": 22},
    "expect_column_median_to_be_between": {"column": "value", "min_value": 20, "max_value": 22},
    "expect_column_stdev_to_be_between": {"column": "value", "max_value": 2},
    "expect_column_sum_to_be_between": {"column": "value", "min_value": 63, "max_value": 63},
    "expect_column_quantile_values_to_be_between": {
        "column": "latency_ms",
        "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 9000]]},
    },
    "expect_column_proportion_of_unique_values_to_be_between": {"column": "value", "min_value": 1},
    "expect_column_proportion_of_non_null_values_to_be_between": {
        "column": "value",
        "min_value": 0.5,
    },
    "expect_column_unique_value_count_to_be_between": {"column": "unit", "max_value": 3},
    "expect_column_distinct_values_to_be_in_set": {"column": "unit", "value_set": ["C", "F", "K"]},
    "expect_column_distinct_values_to_contain_set": {"column": "unit", "value_set": ["C"]},
    "expect_column_distinct_values_to_equal_set": {"column": "unit", "value_set": ["C"]},
}


class Lake:
    """A silver table as the stream writes it, and checks of it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.table = str(folder / "silver")
        columns = ", ".join(f"`{name}` {kind}" for name, kind in silver_schema(DECLARED))
        set_to = ", ".join(
            f"'{key}'='{value}'" for key, value in silver_properties(DECLARED).items()
        )
        spark.sql(
            f"CREATE TABLE delta.`{self.table}` ({columns}) USING delta"
            f" PARTITIONED BY ({', '.join(PARTITION_BY)}) TBLPROPERTIES ({set_to})"
        )

    def append(self, *values: float, first: int = 0, unit: str = "C") -> None:
        """One commit, a row each."""
        numbers = range(first, first + len(values))
        given = pa.table(
            {
                "offset": pa.array(numbers, pa.int64()),
                "value": pa.array(values, pa.float64()),
            }
        )
        moment = f"TIMESTAMP '{NOON.isoformat()}'"
        made = {
            "site": "'plant-a'",
            "topic": "'t'",
            "topic_id": "'id'",
            "partition": "0",
            **dict.fromkeys(("kafka_time", "event_time", "measured_at"), moment),
            "sensor_id": "'plant-a-t1'",
            "unit": f"'{unit}'",
            "payload": "parse_json('{}')",
            "latency_ms": "1000L",
            "ingested_at": f"{moment} + INTERVAL 1 SECOND",
            "day": "DATE '2025-01-31'",
        }
        names = [name for name, _ in silver_schema(DECLARED)]
        rows = self.spark.createDataFrame(given).coalesce(1)
        typed = rows.selectExpr(*(f"{made.get(name, f'`{name}`')} AS `{name}`" for name in names))
        typed.write.format("delta").mode("append").save(self.table)

    def check(self, suite: Path, **others: Any) -> QualityResult:
        task = QualitySpec(
            pipeline="temperature",
            engine=EngineSpec(memory="1g", class_path=()),
            tables=Tables(bronze="", silver=self.table, quarantine=""),
            folder=self.folder / "task",
            suite=suite,
            columns=tuple(COLUMNS),
            **others,
        )
        return check_quality(self.spark, task)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    def write(*expectations: tuple[str, dict[str, Any], str]) -> Path:
        file = tmp_path / "suite.json"
        entries = [{"type": t, "kwargs": k, "severity": s} for t, k, s in expectations]
        file.write_text(json.dumps({"name": "suite", "expectations": entries}))
        load_suite(file, COLUMNS)
        return file

    return write


def test_only_new_rows_are_judged_and_compaction_brings_none(
    lake: Lake, suite: Callable[..., Path]
) -> None:
    cold = suite(
        ("expect_column_max_to_be_between", {"column": "value", "max_value": 50}, "critical")
    )
    lake.append(20.0, 21.0)
    lake.append(99.0, first=2)
    everything = lake.check(cold)
    assert (everything.rows, everything.passed, everything.worst) == (3, False, "critical")

    lake.append(30.0, first=3)
    DeltaTable.forPath(lake.spark, lake.table).optimize().executeCompaction()
    new = lake.check(cold, checked=everything.checked)
    assert (new.from_version, new.rows, new.passed) == (everything.to_version + 1, 1, True)

    nothing = lake.check(cold, checked=new.checked)
    assert (nothing.rows, nothing.passed, nothing.outcomes) == (0, True, ())

    asked = lake.check(cold, from_version=2, to_version=2)
    assert (asked.rows, asked.passed) == (1, False)
    with pytest.raises(VersionError, match="--to-version 99"):
        lake.check(cold, to_version=99)


def test_a_result_shows_the_rows_against_it(lake: Lake) -> None:
    lake.append(20.0, 21.0)
    lake.append(1e6, float("nan"), first=2, unit="<script>alert(1)</script>")
    result = lake.check(EXAMPLE)
    assert result.worst == "critical"
    failed = {(one.subject, one.type): one for one in result.outcomes if not one.passed}
    high = failed["value", "expect_column_values_to_be_between"]
    assert (high.rows, high.unexpected) == (4, 2)
    assert {sample.values["value"] for sample in high.samples} == {"1000000.0", "nan"}
    assert {sample.at["offset"] for sample in high.samples} == {"2", "3"}
    assert all(one.error is None for one in result.outcomes)
    page = result.page.read_text()
    assert "&lt;script&gt;alert" in page
    assert "<script" not in page
    assert result.page.stat().st_mode & 0o077 == 0


def test_every_type_on_batches_can_be_judged(lake: Lake, suite: Callable[..., Path]) -> None:
    lake.append(20.0, 21.0, 22.0)
    result = lake.check(suite(*((kind, kwargs, "info") for kind, kwargs in ON_BATCHES.items())))
    assert [one for one in result.outcomes if not one.passed or one.error] == []
    assert len(result.outcomes) == len(ON_BATCHES)


def test_great_expectations_reads_what_check_takes(suite: Callable[..., Path]) -> None:
    file = suite(*((kind, kwargs, "info") for kind, kwargs in ON_BATCHES.items()))
    assert len(read_suite(file).expectations) == len(ON_BATCHES)
    example = read_suite(EXAMPLE)
    assert {one.severity.value for one in example.expectations} == {"critical", "warning", "info"}


def test_what_great_expectations_writes_check_takes(tmp_path: Path) -> None:
    file = tmp_path / EXAMPLE.name
    file.write_text(json.dumps(read_suite(EXAMPLE).to_json_dict(), default=str))
    assert load_suite(file, COLUMNS) == load_suite(EXAMPLE, COLUMNS)
