"""An archive of the classes that Spark loads: a JVM that maps it starts in half of the time.

`python -m spark_jobs.ingest.class_archive CLASS_PATH...` makes it, when Millrace is installed, out
of what a small job loads. A JVM whose Java is another, or whose jars and their paths are, does
without it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from millrace.settings.core.engine import EngineSpec, Tables, class_archive
from spark_jobs.engine.append import WrittenBatch, append_by_delta, append_once
from spark_jobs.engine.session import READERS, build_session
from spark_jobs.kafka.source import whole_records
from spark_jobs.refine.refined_tables import ensure_refined_tables

_COLUMN = Column(name="n", type="bigint", path=("n",), required=True)
_NO_FILE = Path(os.devnull)
# Its broker is nowhere: the reader's classes are loaded before it is missed.
_NOBODY = SiteInput(
    site="nobody",
    topics=("nothing",),
    kafka={
        "bootstrap.servers": "127.0.0.1:1",
        "default.api.timeout.ms": "1000",
        "request.timeout.ms": "500",
    },
    librdkafka={},
    secret_file=_NO_FILE,
    ca_file=_NO_FILE,
    checkpoint="",
)


def make(engine: EngineSpec) -> None:
    file = class_archive(engine)
    draft = file.with_suffix(".new")
    # Whoever has mapped it keeps it.
    file.unlink(missing_ok=True)
    # The JVM of the session alone takes it, and writes the archive when it ends.
    options = f"-XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={draft}"
    os.environ["SPARK_SUBMIT_OPTS"] = options
    session = build_session("archive", engine)
    with tempfile.TemporaryDirectory() as folder:
        _work(session, Path(folder))
    session.stop()
    jvm = session.sparkContext._gateway.proc  # noqa: SLF001 - PySpark has no public door to it
    jvm.stdin.close()
    jvm.wait()
    draft.replace(file)


def _work(session: SparkSession, folder: Path) -> None:
    """What nearly every job and task does."""
    tables = Tables(bronze=f"{folder}/b", silver=f"{folder}/s", quarantine=f"{folder}/q")
    ensure_refined_tables(session, tables, RefineSpec(format="json", columns=(_COLUMN,)))
    rows = session.range(100).selectExpr("id AS n", "to_json(named_struct('n', id)) AS value")
    append_by_delta(rows, tables.bronze, WrittenBatch("archive", 0))
    _stream(session, folder, tables.bronze)
    found = session.read.format("delta").load(tables.bronze)
    found.groupBy("n").count().orderBy("n").collect()
    for reader in READERS.values():
        with suppress(StreamingQueryException):
            _read_nobody(session, reader, folder / reader)


def _stream(session: SparkSession, folder: Path, table: str) -> None:
    def append(rows: DataFrame, number: int) -> None:
        append_once(
            rows.selectExpr("value AS n", "'' AS value"), table, WrittenBatch("stream", number)
        )

    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    writer = source.writeStream.trigger(availableNow=True).foreachBatch(append)
    writer.option("checkpointLocation", str(folder / "c")).start().awaitTermination()


def _read_nobody(session: SparkSession, reader: str, checkpoint: Path) -> None:
    options = {**whole_records("archive", _NOBODY), "subscribe": "nothing", "turn": "archive"}
    rows = session.readStream.format(reader).options(**options).load()
    writer = rows.writeStream.foreachBatch(lambda _, __: None)
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()


if __name__ == "__main__":
    make(EngineSpec(memory="512m", class_path=tuple(map(Path, sys.argv[1:]))))
