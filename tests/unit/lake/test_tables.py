"""Bronze tables made and followed without Spark."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from deltalake import DeltaTable

from millrace.lake.core import bronze
from millrace.lake.io.follow import follow_table
from millrace.lake.io.tables import NoTableError, ensure_bronze


def test_a_table_is_made_once(tmp_path: Path) -> None:
    assert ensure_bronze(tmp_path / "t")
    assert not ensure_bronze(tmp_path / "t")
    table = DeltaTable(str(tmp_path / "t"))
    assert [field.name for field in table.schema().fields] == [n for n, _ in bronze.COLUMNS]
    assert table.metadata().partition_columns == list(bronze.PARTITION_BY)
    assert table.metadata().configuration == bronze.PROPERTIES


def test_two_makers_at_once_make_one_table(tmp_path: Path) -> None:
    results: list[bool] = []
    barrier = threading.Barrier(6)

    def make() -> None:
        barrier.wait()
        results.append(ensure_bronze(tmp_path / "t"))

    makers = [threading.Thread(target=make) for _ in range(6)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert sorted(results) == [False] * 5 + [True]
    assert DeltaTable(str(tmp_path / "t")).version() == 0


def test_following_a_table_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoTableError, match="no table at"):
        next(follow_table(tmp_path / "none", from_start=True))
