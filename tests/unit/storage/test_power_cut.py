"""The law by which syncs are judged has to see each sync that is missing or comes too late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.power_cut import SYNC, WRITE, Step, Steps

VERSION = "00000000000000000001.json"
DATA, DRAFT = "day=2025-11-18/part.parquet", f"_delta_log/.{VERSION}.{'0' * 36}.tmp"
SAFE = [
    (WRITE, DATA),
    (SYNC, DATA),
    (SYNC, "day=2025-11-18"),
    (SYNC, "."),
    (WRITE, DRAFT),
    (SYNC, DRAFT),
    (SYNC, "_delta_log"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "_delta_log").mkdir()
    action = json.dumps({"add": {"path": DATA}})
    (tmp_path / "_delta_log" / VERSION).write_text(action)
    return tmp_path


def unsafe(table: Path, steps: list[tuple[str, str]]) -> int:
    done = [Step(n, n, kind, table / name) for n, (kind, name) in enumerate(steps)]
    return len(Steps(done).unsafe(table))


def test_what_is_synced_in_order_is_safe(table: Path) -> None:
    assert unsafe(table, SAFE) == 0


@pytest.mark.parametrize("missing", [n for n, (kind, _) in enumerate(SAFE) if kind == SYNC])
def test_no_sync_can_be_left_out(table: Path, missing: int) -> None:
    assert unsafe(table, [step for n, step in enumerate(SAFE) if n != missing]) == 1


@pytest.mark.parametrize("place", [1, 2, 3])
def test_what_a_version_names_is_synced_before_it_is_written(table: Path, place: int) -> None:
    late = [step for n, step in enumerate(SAFE) if n != place]
    assert unsafe(table, [*late, SAFE[place]]) == 1


def test_a_sync_before_the_last_write_counts_for_nothing(table: Path) -> None:
    first, synced, *others = SAFE
    assert unsafe(table, [synced, first, *others]) == 1
    assert unsafe(table, [*SAFE[:5], SAFE[6], SAFE[5]]) == 1
