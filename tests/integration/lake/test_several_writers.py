"""Spark drivers and delta-rs append to one table while another driver compacts it."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, Field, QueryBuilder, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from millrace.settings.core.engine import EngineSpec
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.table_access import storage_options
from tests.integration.stands.lake.log_store_race import CHECKOUT
from tests.integration.stands.lake.object_store import RunningStore

WRITERS = ("red", "green", "blue")
OPTIMIZER = "optimizer"
JARS = tuple(CHECKOUT / ".jars" / name for name in ("spark", "jvm"))
SCHEMA = Schema([Field("writer", PrimitiveType("string")), Field("number", PrimitiveType("long"))])


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> Bucket | None:
    if request.param == "folder":
        return None
    store: RunningStore = request.getfixturevalue("store")
    return store.bucket


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("bucket", ["bucket", "folder"], indirect=True)
def test_every_acknowledged_row_is_there_once(bucket: Bucket | None, tmp_path: Path) -> None:
    """Takes minutes: four drivers start at once.

    `make test` has the store's part of this law in test_log_stores.py, and a driver that appends
    while another compacts in test_maintain.py.
    """
    count, writers = 100, WRITERS
    table = f"{bucket.uri if bucket else tmp_path}/{tmp_path.name}/t"
    options = storage_options(bucket)
    DeltaTable.create(table, SCHEMA, storage_options=options)
    engine = tmp_path / "engine.json"
    spec = EngineSpec(memory="512m", class_path=JARS, bucket=bucket)
    engine.write_text(spec.model_dump_json())
    with ExitStack() as stack:
        names = {**dict.fromkeys(writers, count), OPTIMIZER: max(3, count // 10)}
        drivers = {
            name: stack.enter_context(driver(engine, table, name, times))
            for name, times in names.items()
        }
        begin_at_once(list(drivers.values()))
        acked = [f"delta-rs {number}" for number in append_by_delta_rs(table, options, count)]
        for name in writers:
            acked += said(drivers[name])
        compacted = said(drivers[OPTIMIZER])
    assert any(line != "compacted 0" for line in compacted)
    assert len(acked) == len(set(acked)) == (1 + len(writers)) * count
    assert Counter(acked) == rows(DeltaTable(table, storage_options=options))


@contextmanager
def driver(engine: Path, table: str, name: str, count: int) -> Iterator[subprocess.Popen[str]]:
    python = CHECKOUT / ".venv-lake" / "bin" / "python"
    words = (str(engine), table, name, str(count))
    with (engine.parent / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            [python, "-m", "tests.integration.stands.lake.append_driver", *words],
            cwd=CHECKOUT,
            # The quick compiler alone: these live too short to earn the other's work.
            env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def begin_at_once(processes: list[subprocess.Popen[str]]) -> None:
    """When all have started, or they would work one after the other."""
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    lines = process.stdout.read().splitlines()
    assert process.wait(60) == 0
    return lines


def append_by_delta_rs(table: str, options: dict[str, str] | None, count: int) -> Iterator[int]:
    for number in range(count):
        columns = {
            "writer": Array(["delta-rs"], DataType.string()),
            "number": Array([number], DataType.int64()),
        }
        write_deltalake(table, Table.from_pydict(columns), mode="append", storage_options=options)
        yield number


def rows(table: DeltaTable) -> Counter[str]:
    found = QueryBuilder().register("t", table).execute("SELECT writer, number FROM t")
    return Counter(
        f"{writer} {number}"
        for batch in found
        for writer, number in zip(
            batch.column("writer").to_pylist(), batch.column("number").to_pylist(), strict=True
        )
    )
