"""`millrace quality` as a person calls it, on a table that goes on growing."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake

from millrace.core.layout import Layout
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
NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
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


def append(layout: Layout, *values: float) -> None:
    """A commit of silver rows; deltalake cannot write the variant, and nobody asks for it."""
    count = len(values)
    rows = {
        "site": ["plant-a"] * count,
        "topic": ["t"] * count,
        "partition": pa.array([0] * count, pa.int32()),
        "offset": list(range(count)),
        "kafka_time": [NOON] * count,
        "event_time": [NOON] * count,
        "value": [float(value) for value in values],
        "latency_ms": [0] * count,
        "ingested_at": [NOON] * count,
        "day": [date(2025, 1, 31)] * count,
    }
    write_deltalake(
        layout.tables("temperature").silver,
        pa.table(rows),
        mode="append",
        configuration={"delta.enableChangeDataFeed": "true"},
    )


def quality(layout: Layout, *options: str) -> tuple[int, dict[str, Any]]:
    command = [str(CHECKOUT / ".venv/bin/millrace"), "quality", "temperature", "--json", *options]
    environment = {**os.environ, "MILLRACE_HOME": str(layout.home)}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else {"error": ended.stderr}


def test_a_check_goes_on_where_the_last_one_ended_and_says_so_by_its_exit_code(
    layout: Layout,
) -> None:
    append(layout, 90, 80)
    code, first = quality(layout)
    assert (code, first.get("rows"), first.get("worst")) == (1, 2, "critical"), first
    append(layout, 20, -1)
    code, second = quality(layout)
    assert (code, second["rows"], second["worst"]) == (0, 2, "warning")
    code, third = quality(layout)
    assert (code, third["rows"], third["outcomes"]) == (0, 0, [])
    latest = layout.quality("temperature") / "latest"
    assert json.loads((latest / "result.json").read_text())["rows"] == 0
    assert "values on temperature" in (latest / "page.html").read_text()
