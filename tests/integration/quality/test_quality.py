"""`millrace quality` as a person calls it, on a table that goes on growing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from millrace.platform.core.platform import Platform
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.table_access import storage_options
from tests.integration.conftest import CHECKOUT

PIPELINE = {
    "name": "temperature",
    "sites": "all",
    "topics": ["t"],
    "format": "json",
    "table": "temperature",
    "columns": {"value": {"type": "double", "from": "$.value"}},
    "quality": "expectations/values.json",
}
SUITE = {
    "name": "values",
    "expectations": [
        {
            "type": "expect_column_mean_to_be_between",
            "kwargs": {"column": "value", "max_value": 50},
            "severity": "critical",
        },
        {
            "type": "expect_column_values_to_be_between",
            "kwargs": {"column": "value", "min_value": 0},
            "severity": "warning",
        },
    ],
}
NOON_US = 1_738_324_800_000_000


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    for part in (".jars", ".venv-lake", "src", "spark_jobs"):
        (tmp_path / part).symlink_to(CHECKOUT / part)
    for file, text in (
        (layout.sites / "plant-a.yaml", "name: plant-a\nbootstrap: 127.0.0.1:1"),
        (layout.pipelines / "temperature.yaml", yaml.safe_dump(PIPELINE)),
        (layout.expectations / "values.json", json.dumps(SUITE)),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return layout


def append(table: str, *values: float, bucket: Bucket | None = None) -> None:
    """A commit of silver rows; deltalake cannot write the variant, and nobody asks for it."""
    long, moment = DataType.int64(), DataType.timestamp("us", tz="UTC")
    rows = {
        **dict.fromkeys(("site", "topic", "topic_id"), ("t", DataType.utf8(), DataType.utf8())),
        "partition": (0, DataType.int32(), DataType.int32()),
        **dict.fromkeys(("offset", "latency_ms"), (0, long, long)),
        **dict.fromkeys(("kafka_time", "event_time", "ingested_at"), (NOON_US, long, moment)),
        "day": (NOON_US // 86_400_000_000, DataType.int32(), DataType.date32()),
    }
    columns = {
        name: Array([value] * len(values), made_as).cast(kind)
        for name, (value, made_as, kind) in rows.items()
    }
    columns["value"] = Array([float(value) for value in values], DataType.float64())
    write_deltalake(
        table,
        Table.from_pydict(columns),
        mode="append",
        configuration={"delta.enableChangeDataFeed": "true"},
        storage_options=storage_options(bucket),
    )


def quality(layout: Platform, *options: str) -> tuple[int, dict[str, Any]]:
    command = [str(CHECKOUT / ".venv/bin/millrace"), "quality", "temperature", "--json", *options]
    environment = {**os.environ, "MILLRACE_HOME": str(layout.home)}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {"error": ended.stderr}


def test_a_check_goes_on_where_the_last_one_ended_and_says_so_by_its_exit_code(
    layout: Platform,
) -> None:
    silver = layout.tables("temperature").silver
    append(silver, 90, 80)
    code, first = quality(layout)
    assert (code, first.get("rows"), first.get("worst")) == (1, 2, "critical"), first
    append(silver, 20, -1)
    code, second = quality(layout)
    assert (code, second["rows"], second["worst"]) == (0, 2, "warning")
    latest = layout.quality("temperature") / "latest"
    assert json.loads((latest / "result.json").read_text())["from_version"] == 1
    assert "values on temperature" in (latest / "page.html").read_text()
