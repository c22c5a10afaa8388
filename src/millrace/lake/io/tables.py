"""Tables, made and read without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import ArrayType, PrimitiveType, StructType

from millrace.base.errors import MillraceError, StoreUnreachableError
from millrace.lake.core import bronze
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.objects import objects_at
from millrace.storage.io.table_access import storage_options

_FIRST_VERSION = "_delta_log/00000000000000000000.json"
_SIMPLE = {"int": "integer", "bigint": "long"}


class NoTableError(MillraceError):
    def __init__(self, place: str | Path) -> None:
        super().__init__(
            f"there is no table at {place}; a pipeline's provision task makes it"
            " ('millrace check' lists the tables of each pipeline)"
        )


def open_table(place: str | Path, bucket: Bucket | None = None) -> DeltaTable:
    options = storage_options(bucket)
    with _errors_named(bucket):
        if not DeltaTable.is_deltatable(str(place), options):
            raise NoTableError(place)
        return DeltaTable(str(place), storage_options=options)


def ensure_bronze(place: str | Path, bucket: Bucket | None = None) -> bool:
    """Make the empty table; False where it is there already."""
    table = objects_at(place, bucket)
    return not table.names("_delta_log") and table.put_new(_FIRST_VERSION, _creation())


def _creation() -> str:
    """The commit that makes a bronze table, written aside.

    delta-rs itself lets a second maker commit its creation as version 1, with a new table id.
    """
    with TemporaryDirectory() as folder:
        DeltaTable.create(
            folder,
            schema=Schema([Field(name, _delta_type(kind)) for name, kind in bronze.COLUMNS]),
            mode="error",
            partition_by=list(bronze.PARTITION_BY),
            configuration=dict(bronze.PROPERTIES),
        )
        lines = (Path(folder) / _FIRST_VERSION).read_text().splitlines(keepends=True)
    # What it says of the commit names that folder; what it says of the table does not.
    return "".join(line for line in lines if not line.startswith('{"commitInfo"'))


@contextmanager
def _errors_named(bucket: Bucket | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if bucket is None:
            raise
        raise StoreUnreachableError(f"object store of {bucket.uri}: {error}") from error


def _delta_type(sql: str) -> PrimitiveType | ArrayType:
    if sql.startswith("array<struct<"):
        inner = sql.removeprefix("array<struct<").removesuffix(">>")
        fields = [Field(*_name_and_type(part)) for part in inner.split(",")]
        return ArrayType(StructType(fields), contains_null=True)
    return PrimitiveType(_SIMPLE.get(sql, sql))


def _name_and_type(text: str) -> tuple[str, PrimitiveType]:
    name, _, kind = text.partition(":")
    return name, PrimitiveType(_SIMPLE.get(kind, kind))
