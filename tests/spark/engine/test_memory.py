"""A batch of many days in the smallest heap that Spark itself accepts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.spark.conftest import JARS

# Each value is noise of 2 KB; next to each other stand rows of other days.
_DAYS, _ROWS = 10, 100_000
_SCRIPT = """
import sys
from pathlib import Path
from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.append import WrittenBatch, Output, write
from spark_jobs.engine.session import build_session
folder, days, rows, *jars = sys.argv[1:]
spark = build_session("small", EngineSpec(memory="512m", class_path=tuple(map(Path, jars))))
noise = spark.range(0, int(rows), 1, 1).selectExpr(
    "id", "unhex(hex(randstr(2000, 1))) value",
    f"date_add(DATE'2026-11-01', cast(id % {days} as int)) day",
)
names = ["id", "value", "day"]
outputs = []
for one in ("bronze", "silver", "quarantine"):
    table = f"{folder}/{one}"
    spark.sql(f"CREATE TABLE delta.`{table}` (id bigint, value binary, day date)"
              " USING delta PARTITIONED BY (day)")
    outputs.append(Output(table, names, names))
written = write(noise, outputs)
for one in outputs:
    written.commit(one.table, WrittenBatch("one", 0))
    found = spark.read.format("delta").load(one.table)
    print("rows", found.select("id").distinct().count(), found.count(), len(found.inputFiles()))
"""


def test_late_rows_of_many_days_fit_into_a_small_heap(tmp_path: Path) -> None:
    """Three tables of ten days: 32 MB for each open file would be twice the heap."""
    arguments = [str(tmp_path), str(_DAYS), str(_ROWS), *map(str, JARS)]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("rows")]
    # A day's rows stay in one file.
    assert lines == 3 * [f"rows {_ROWS} {_ROWS} {_DAYS}"], done.stderr[-3000:]
