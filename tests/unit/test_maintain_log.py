"""A table's log as a plan sees it, on small real tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, write_deltalake

from millrace.core.maintenance.log import TableLog
from millrace.lake.follow import read_new_rows
from millrace.lake.table_log import read_log
from millrace.lake.tables import ensure_bronze
from millrace.state.objects import FolderObjects

DAY = date(2026, 1, 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ensure_bronze(tmp_path / "t")
    return tmp_path / "t"


def add(table: Path, day: date, *times: datetime) -> None:
    """One file with a row for each time."""
    epoch = date(1970, 1, 1)
    micros = [int(time.timestamp() * 1_000_000) for time in times]
    columns = {
        "offset": Array(list(range(len(times))), DataType.int64()),
        "kafka_time": Array(micros, DataType.int64()).cast(DataType.timestamp("us", tz="UTC")),
        "day": Array([(day - epoch).days] * len(times), DataType.int32()).cast(DataType.date32()),
    }
    write_deltalake(table, Table.from_pydict(columns), mode="append", schema_mode="merge")


def log_of(table: Path, vacuum_after: timedelta = timedelta(days=7)) -> TableLog:
    return read_log(DeltaTable(table), FolderObjects(table), vacuum_after)


def test_files_stand_under_their_day_with_the_time_of_their_oldest_row(table: Path) -> None:
    times = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (9, 7, 8)]
    add(table, DAY, *times)
    add(table, DAY + timedelta(days=1), datetime(2026, 1, 2, tzinfo=UTC))
    log = log_of(table)
    assert {day: len(files) for day, files in log.days.items()} == {
        DAY: 1,
        DAY + timedelta(days=1): 1,
    }
    (file,) = log.days[DAY]
    assert file.first_ms == int(min(times).timestamp() * 1_000)
    assert file.size_bytes == (table / file.path).stat().st_size


def test_commits_count_from_the_last_checkpoint(table: Path) -> None:
    for _ in range(3):
        add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    assert log_of(table).commits_to_read == 4
    DeltaTable(table).create_checkpoint()
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    assert log_of(table).commits_to_read == 1


def test_what_was_removed_long_ago_is_unneeded(table: Path) -> None:
    DeltaTable(table).alter.set_table_properties(
        {"delta.deletedFileRetentionDuration": "interval 0 hours"}
    )
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    DeltaTable(table).delete("day = '2026-01-01'")
    assert log_of(table).unneeded_files == 0
    assert log_of(table, timedelta(0)).unneeded_files == 1
    for file in table.glob("day=*/*.parquet"):
        file.unlink()
    assert log_of(table, timedelta(0)).unneeded_files == 0


def test_days_that_go_are_not_followed_as_new_rows(table: Path) -> None:
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    follower = DeltaTable(table)
    since = follower.version()
    DeltaTable(table).delete("day = '2026-01-01'")
    add(table, DAY, datetime(2026, 1, 1, 5, tzinfo=UTC))
    assert [row["kafka_time"].hour for row in read_new_rows(follower, since)] == [5]
