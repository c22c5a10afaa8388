"""Maintenance on real tables: beside a writer, and killed wherever it hurts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder

from millrace.lake.core import bronze
from millrace.lake.io.follow import read_new_rows
from millrace.lake.io.tables import ensure_bronze
from millrace.maintenance.core.maintenance_plan import Action, TablePlan, Vacuum, plan_table
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings
from millrace.maintenance.core.maintenance_task import MaintainResult, MaintainSpec
from millrace.maintenance.io.table_log import read_log
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.storage.io.objects import FolderObjects
from tests.integration.conftest import CHECKOUT
from tests.integration.stands.lake.lake import Lake

MAINTAIN = "spark_jobs.maintenance.maintain:maintain"
TODAY = datetime.now(UTC).date()
CLOSED = TODAY - timedelta(days=2)
LONG_AGO = TODAY - timedelta(days=40)
KEEP = timedelta(days=30)
JARS = [CHECKOUT / ".jars" / name for name in ("spark", "jvm")]
# Two bins and more from a few kilobytes.
SETTINGS = MaintenanceSettings(target_bytes=100_000)


@pytest.fixture
def new_lake(tmp_path: Path) -> Iterator[Callable[[], Lake]]:
    made: list[Lake] = []

    def make() -> Lake:
        made.append(Lake.start(tmp_path / "host.log"))
        return made[-1]

    yield make
    for lake in made:
        if lake.process.poll() is None:
            lake.kill()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ensure_bronze(tmp_path / "t")
    return tmp_path / "t"


def fill(lake: Lake, table: Path, day: date, files: int) -> None:
    values = {
        "site": "'plant-t'",
        "topic": "'old'",
        "partition": "CAST(id % 2 AS INT)",
        "offset": "id",
        "kafka_time": f"TIMESTAMP'{day} 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id)",
        "value": "encode(concat('v', id), 'utf-8')",
        "ingested_at": f"TIMESTAMP'{day} 12:00:00'",
        "day": f"DATE'{day}'",
    }
    columns = (f"CAST({values.get(name, 'NULL')} AS {kind})" for name, kind in bronze.COLUMNS)
    rows = f"SELECT {', '.join(columns)} FROM range(0, {files * 20}, 1, {files})"  # noqa: S608
    lake.sql(f"INSERT INTO delta.`{table}` {rows}")


def plan(
    table: Path, keep: timedelta | None = None, vacuum_after: timedelta = timedelta(days=7)
) -> TablePlan:
    now = datetime.now(UTC)
    log = read_log(DeltaTable(table), FolderObjects(table), vacuum_after, now)
    return plan_table("bronze", str(table), log, keep, now, SETTINGS)


def task(one: TablePlan, folder: Path) -> MaintainSpec:
    where = one.table
    return MaintainSpec(
        pipeline="t",
        engine=EngineSpec(memory="768m", class_path=tuple(JARS)),
        tables=Tables(bronze=where, silver=where, quarantine=where),
        folder=folder,
        plans=(one,),
    )


def maintain(lake: Lake, table: Path) -> MaintainResult:
    return lake.work(MAINTAIN, task(plan(table), table.parent), MaintainResult)


def kinds(one: TablePlan) -> list[str]:
    return [action.kind for action in one.actions]


def rows(
    table: Path, columns: str = 'day, topic, "partition", "offset"'
) -> list[tuple[object, ...]]:
    found = QueryBuilder().register("t", DeltaTable(table))
    text = f"SELECT {columns} FROM t ORDER BY {columns}"  # noqa: S608 - columns of a test
    batches = found.execute(text)
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


@contextmanager
def writing(table: Path, day: date) -> Iterator[Callable[[], int]]:
    """A process that appends all the while; called, it says what it has written since."""
    python = CHECKOUT / ".venv-lake" / "bin" / "python"
    arguments = [
        "-m",
        "tests.integration.stands.lake.maintain_writer",
        table,
        day.isoformat(),
        *JARS,
    ]
    with (table.parent / "writer.log").open("wb") as log:
        process = subprocess.Popen(
            [str(one) for one in (python, *arguments)],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def next_offset() -> int:
        assert process.stdout
        return int(process.stdout.readline())

    try:
        yield next_offset
    finally:
        process.kill()
        process.wait()


def test_a_writer_beside_it_loses_and_doubles_nothing(lake: Lake, table: Path) -> None:
    fill(lake, table, CLOSED, 40)
    fill(lake, table, LONG_AGO, 3)
    old = len(rows(table))
    follower = DeltaTable(table)
    began = follower.version()
    with writing(table, CLOSED) as next_offset:
        results = []
        for keep in (None, KEEP):
            for _ in range(15):
                next_offset()
            one = plan(table, keep)
            results.append(lake.work(MAINTAIN, task(one, table.parent), MaintainResult))
        for _ in range(15):
            next_offset()
        # What it appended is on the pipe before the next line of it.
    compacted = [done for result in results for done in result.done]
    assert [done.action.kind for done in compacted] == ["compact", "compact", "expire", "compact"]
    assert not any(done.gain.left for done in compacted)
    live = [offset for _, topic, _, offset in rows(table) if topic == "live"]
    assert live == list(range(len(live)))
    assert len(live) >= 45 * 20
    assert len(rows(table)) == old + len(live) - 3 * 20
    followed = [row["offset"] for row in read_new_rows(follower, began)]
    assert sorted(followed) == live


def test_a_compacted_file_is_in_the_order_of_offsets(lake: Lake, table: Path) -> None:
    fill(lake, table, CLOSED, 40)
    before = rows(table)
    files = len(DeltaTable(table).file_uris())
    maintain(lake, table)
    assert rows(table) == before
    parts = lake.sql(
        "SELECT _metadata.file_name AS file, min(kafka_time) AS first, max(kafka_time) AS last,"  # noqa: S608
        f" collect_list((partition, offset)) AS rows FROM delta.`{table}` GROUP BY 1 ORDER BY 2"
    )
    assert 1 < len(parts) < files
    assert all(part["rows"] == sorted(part["rows"]) for part in parts)
    spans = [(part["first"], part["last"]) for part in parts]
    assert all(last < first for (_, last), (first, _) in pairwise(spans)), (
        "files hold one span of time each"
    )


def test_killed_anywhere_the_next_run_finishes_the_work(
    lake: Lake, new_lake: Callable[[], Lake], table: Path
) -> None:
    """Takes more than a minute: a JVM dies at each of three places."""
    fill(lake, table, CLOSED, 40)
    fill(lake, table, LONG_AGO, 3)
    lake.sql(
        f"ALTER TABLE delta.`{table}`"
        " SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    kept = [row for row in rows(table) if row[0] == CLOSED]
    everything = rows(table)
    for killed_at in ("expire:", "file 1 of", "vacuum:"):
        victim = new_lake()
        victim.begin(MAINTAIN, task(hasty_plan(table), table.parent))
        _wait_for_line(victim, killed_at)
        victim.kill()
        assert rows(table) in (everything, kept)
    runs = count(1)
    while (one := hasty_plan(table)).actions:
        # What a run removes, the next vacuums; merged files may be so small that they fit again.
        assert next(runs) <= 4, kinds(one)
        result = lake.work(MAINTAIN, task(one, table.parent), MaintainResult)
        assert not any(done.gain.left for done in result.done)
    assert rows(table) == kept
    on_disk = {file.name for file in table.glob("day=*/*.parquet")}
    assert on_disk == {Path(uri).name for uri in DeltaTable(table).file_uris()}


def hasty_plan(table: Path) -> TablePlan:
    """With a vacuum that waits for no reader; settings refuse it."""

    def hasty(action: Action) -> Action:
        now = {"before": datetime.now(UTC) + timedelta(hours=1)}
        return action.model_copy(update=now) if isinstance(action, Vacuum) else action

    # The newest rows are two days old, and they say what time it is.
    one = plan(table, KEEP, timedelta(days=-3))
    return one.model_copy(update={"actions": tuple(map(hasty, one.actions))})


def _wait_for_line(lake: Lake, text: str) -> None:
    for line in lake.process.stdout or ():
        if text in line:
            return
    raise AssertionError(f"the host ended before {text!r}")


def test_a_table_with_variants_is_planned_and_compacted(lake: Lake, tmp_path: Path) -> None:
    table = tmp_path / "silver"
    lake.sql(
        f"CREATE TABLE delta.`{table}` (site string, topic string, topic_id string, partition int,"
        " offset bigint, kafka_time timestamp, payload variant, day date) USING delta"
        " PARTITIONED BY (day)"
    )
    lake.sql(
        f"INSERT INTO delta.`{table}` SELECT 'a', 't', 'id', 0, id, TIMESTAMP'{CLOSED} 12:00:00',"  # noqa: S608
        f" parse_json(concat('[', id, ']')), DATE'{CLOSED}' FROM range(0, 40, 1, 8)"
    )
    result = maintain(lake, table)
    assert [(d.gain.files_before, d.gain.files_after) for d in result.done] == [(8, 1)]
    value = "variant_get(payload, '$[0]', 'long')"
    payloads = lake.sql(f"SELECT offset, {value} AS p FROM delta.`{table}`")  # noqa: S608
    assert [(row["offset"], row["p"]) for row in payloads] == [(n, n) for n in range(40)]
