"""Bronze tables, made and read without Spark."""

from __future__ import annotations

import fcntl
from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import ArrayType, PrimitiveType, StructType

from millrace.core import bronze
from millrace.core.errors import MillraceError

_SIMPLE = {"int": "integer", "bigint": "long"}


class NoTableError(MillraceError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"there is no table at {path}; a pipeline's provision task makes it"
            " ('millrace check' lists the tables of each pipeline)"
        )


def open_table(path: Path) -> DeltaTable:
    if not DeltaTable.is_deltatable(str(path)):
        raise NoTableError(path)
    return DeltaTable(str(path))


def ensure_bronze(path: Path) -> bool:
    """Make the empty table; False where it is there already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # delta-rs lets a second maker commit its creation as version 1, with a new table id.
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if DeltaTable.is_deltatable(str(path)):
            return False
        _create_bronze(path)
    return True


def _create_bronze(path: Path) -> None:
    DeltaTable.create(
        str(path),
        schema=Schema([Field(name, _delta_type(kind)) for name, kind in bronze.COLUMNS]),
        mode="error",
        partition_by=list(bronze.PARTITION_BY),
        configuration=dict(bronze.PROPERTIES),
    )


def _delta_type(sql: str) -> PrimitiveType | ArrayType:
    if sql.startswith("array<struct<"):
        inner = sql.removeprefix("array<struct<").removesuffix(">>")
        fields = [Field(*_name_and_type(part)) for part in inner.split(",")]
        return ArrayType(StructType(fields), contains_null=True)
    return PrimitiveType(_SIMPLE.get(sql, sql))


def _name_and_type(text: str) -> tuple[str, PrimitiveType]:
    name, _, kind = text.partition(":")
    return name, PrimitiveType(_SIMPLE.get(kind, kind))
