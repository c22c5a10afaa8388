"""How long a plan of maintenance takes for a day of many small files, and in how much memory.

Runs in the control environment: python -m benchmarks.maintenance_plan [--files N]; prints JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

from deltalake import DeltaTable

from millrace.lake.io.tables import ensure_bronze
from millrace.maintenance.core.maintenance_plan import Compact, plan_table
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings
from millrace.maintenance.io.table_log import read_log
from millrace.storage.io.objects import FolderObjects

_FILE_BYTES = 20_000
_COMMITS = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    files: int = parser.parse_args().files
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        table = Path(folder) / "t"
        write_log(table, files)
        results = [measure(table, "commits alone")]
        DeltaTable(table).create_checkpoint()
        results.append(measure(table, "a checkpoint"))
    print(json.dumps(results, indent=2))  # noqa: T201 - the result is for whoever runs it


def measure(table: Path, log: str) -> dict[str, object]:
    """In a process of its own, whose memory is the plan's alone."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return {"log": log, **pool.submit(plan_once, table).result()}


def plan_once(table: Path) -> dict[str, object]:
    before_mb, started = _peak_mb(), time.monotonic()
    settings = MaintenanceSettings()
    # The files are in the log alone, so nothing is found to vacuum; the folder is looked through.
    log = read_log(DeltaTable(table), FolderObjects(table), settings.vacuum_after, _now())
    plan = plan_table("bronze", str(table), log, timedelta(days=30), _now(), settings)
    seconds = time.monotonic() - started
    return {
        "files": plan.files,
        "versions": plan.version,
        "become": sum(len(one.bins) for one in plan.actions if isinstance(one, Compact)),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "peak_mb": _peak_mb(),
        "peak_mb_before": before_mb,
    }


def write_log(table: Path, files: int) -> None:
    """A closed day in as many commits as a day of slow batches has, its files only said to be."""
    ensure_bronze(table)
    day = (_now() - timedelta(days=2)).date()
    per_commit = files // _COMMITS
    for commit in range(_COMMITS):
        numbers = range(commit * per_commit, (commit + 1) * per_commit)
        lines = [{"commitInfo": {"timestamp": 0, "operation": "WRITE", "isBlindAppend": True}}]
        lines += [_add(day.isoformat(), number) for number in numbers]
        file = table / "_delta_log" / f"{commit + 1:020d}.json"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _add(day: str, number: int) -> dict[str, object]:
    time_of = f"{day}T{number % 86_400 // 3_600:02d}:00:00.000Z"
    ends = {"site": "plant-a", "topic": "temperature-data", "partition": 0, "offset": number}
    ends |= {"kafka_time": time_of, "ingested_at": time_of}
    stats = {
        "numRecords": 100,
        "minValues": ends,
        "maxValues": ends,
        "nullCount": dict.fromkeys(ends, 0),
    }
    return {
        "add": {
            "path": f"day={day}/part-00000-{number:08d}-aaaa-4bbb-8ccc-dddddddddddd.c000.parquet",
            "partitionValues": {"day": day},
            "size": _FILE_BYTES,
            "modificationTime": 1_700_000_000_000 + number,
            "dataChange": True,
            "stats": json.dumps(stats),
        }
    }


def _now() -> datetime:
    return datetime.now(UTC)


def _peak_mb() -> int:
    """Of this program alone; what getrusage says, a child has from its parent."""
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1_024


if __name__ == "__main__":
    main()
