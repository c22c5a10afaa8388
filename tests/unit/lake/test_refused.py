"""What a person is shown of refused rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import QueryBuilder, write_deltalake

from millrace.lake.core.quarantine import WrittenFile, as_refused, newest_since
from millrace.lake.io.refused_rows import newest_refused

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def row(value: bytes | None, offset: int = 1) -> dict[str, object]:
    return {
        "kafka_time": NOON,
        "site": "plant-a",
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "stage": "decode",
        "reasons": ["unknown schema id 7"],
        "value": value,
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'{"a": 1}', '{"a": 1}'),
        (b"\x00\xff", "00 ff"),
        (b"line\nbreak", "line\\nbreak"),
        (b"", ""),
        (None, "(no value)"),
        (b"x" * 300, "x" * 200 + "... (300 bytes)"),
    ],
)
def test_a_message_is_shown_as_text_where_it_is_text(value: bytes | None, shown: str) -> None:
    assert as_refused(row(value)).value == shown


@pytest.mark.parametrize(("rows", "since_s"), [(1, 20), (10, 20), (11, 5), (30, 5), (31, 0)])
def test_as_few_of_the_newest_files_are_read_as_hold_enough(rows: int, since_s: int) -> None:
    files = [
        WrittenFile(written_ms=at, rows=10, first_time=NOON + timedelta(seconds=first))
        # The second was written later than the third, and holds an older row.
        for at, first in ((1, 0), (3, 5), (2, 10), (4, 20))
    ]
    assert newest_since(files, rows) == NOON + timedelta(seconds=since_s)


def test_a_table_without_rows_shows_none() -> None:
    assert newest_since([], 20) is None


def test_the_newest_rows_of_a_table_are_read(tmp_path: Path) -> None:
    for offset in range(5):
        rows = QueryBuilder().execute(
            f"SELECT TIMESTAMP '2026-11-18T12:00:0{offset}Z' AS kafka_time, 'plant-a' AS site,"
            f" 't' AS topic, 0 AS partition, {offset} AS offset, 'rule' AS stage,"
            f" make_array('too warm') AS reasons, arrow_cast('{offset}', 'Binary') AS value"
        )
        write_deltalake(str(tmp_path), rows, mode="append")
    found = newest_refused(tmp_path, None, 2)
    assert [(one.offset, one.reasons, one.value) for one in found] == [
        (4, ("too warm",), "4"),
        (3, ("too warm",), "3"),
    ]
