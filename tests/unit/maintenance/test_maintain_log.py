"""A table's log as a plan sees it, on small real tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from millrace.lake.io.follow import read_new_rows
from millrace.lake.io.tables import ensure_bronze
from millrace.maintenance.core.logged_files import TableLog
from millrace.maintenance.core.retention import Passed, unneeded_before
from millrace.maintenance.io.passed_file import PassedFile
from millrace.maintenance.io.table_log import read_log
from millrace.storage.io.objects import FolderObjects
from tests.unit.maintenance.tables_of_days import rows_of

DAY = date(2026, 1, 1)
# Whole hours are counted, and the newest file is a moment old.
AT_ONCE = timedelta(hours=-1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    ensure_bronze(tmp_path / "t")
    return tmp_path / "t"


def add(table: Path, day: date, *times: datetime, came: datetime | None = None) -> None:
    """One file with a row for each time."""
    rows = rows_of(day, *times, came=came)
    write_deltalake(table, rows, mode="append", schema_mode="merge")


def log_of(table: Path, vacuum_after: timedelta = timedelta(days=7)) -> TableLog:
    return read_log(DeltaTable(table), FolderObjects(table), vacuum_after, datetime.now(UTC))


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
    assert log_of(table, AT_ONCE).unneeded_files == 0, "no row says what time it is"
    add(table, DAY + timedelta(days=1), datetime(2026, 1, 2, tzinfo=UTC))
    assert log_of(table).unneeded_files == 0
    assert log_of(table, AT_ONCE).unneeded_files == 1
    for file in table.glob(f"day={DAY}/*.parquet"):
        file.unlink()
    assert log_of(table, AT_ONCE).unneeded_files == 0


def test_a_clock_that_is_ahead_finds_nothing_unneeded(table: Path) -> None:
    """The folder is on this machine; what it says of its files' times is right."""
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    add(table, DAY + timedelta(days=1), datetime(2026, 1, 2, tzinfo=UTC))
    DeltaTable(table).delete("day = '2026-01-01'")
    ahead = datetime.now(UTC) + timedelta(days=365)
    after = timedelta(days=7)
    log = read_log(DeltaTable(table), FolderObjects(table), after, ahead)
    allowed = unneeded_before(log, ahead, after)
    assert allowed
    assert allowed <= datetime.now(UTC) - after
    # As if the clock that delta-rs asks were ahead too.
    assert log.unneeded_files == 0


def test_rows_say_when_they_came_where_there_are_statistics(table: Path) -> None:
    came = datetime(2026, 1, 3, 4, 5, 6, tzinfo=UTC)
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC), came=came)
    (file,) = log_of(table).days[DAY]
    assert file.came_ms == int(came.timestamp() * 1_000)
    add(table, DAY + timedelta(days=1), datetime(2026, 1, 2, tzinfo=UTC))
    (file,) = log_of(table).days[DAY + timedelta(days=1)]
    assert file.came_ms == file.written_ms


def test_how_far_days_were_let_go_is_kept_for_each_layer(tmp_path: Path) -> None:
    kept, other = (PassedFile(FolderObjects(tmp_path), layer) for layer in ("bronze", "silver"))
    assert kept.read() is None
    passed = Passed(on=DAY, began=DAY, now=DAY + timedelta(days=1), asked=True)
    kept.put(passed)
    assert (kept.read(), other.read()) == (passed, None)
    (tmp_path / "retention-bronze.json").write_text("{")
    assert kept.read() is None


def test_days_that_go_are_not_followed_as_new_rows(table: Path) -> None:
    add(table, DAY, datetime(2026, 1, 1, tzinfo=UTC))
    follower = DeltaTable(table)
    since = follower.version()
    DeltaTable(table).delete("day = '2026-01-01'")
    add(table, DAY, datetime(2026, 1, 1, 5, tzinfo=UTC))
    assert [row["kafka_time"].hour for row in read_new_rows(follower, since)] == [5]
