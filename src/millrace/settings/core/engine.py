"""What a Spark session needs to know, whichever job it serves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from millrace.base.model import Frozen
from millrace.settings.core.spark_cluster import Cluster
from millrace.storage.core.bucket import Bucket

# Of a driver as of an executor.
JVM_OPTIONS = (
    "-Duser.timezone=UTC",
    "-Djava.net.preferIPv4Stack=true",
    "-XX:+UseParallelGC",
    # A batch's rows live for moments: more room for them means fewer collections.
    "-XX:NewRatio=1",
    # Spark takes one survivor space off the heap, and ends where less than 450 MB are left.
    "-XX:MinSurvivorRatio=8",
    "-XX:ReservedCodeCacheSize=128m",
    "-XX:+ExitOnOutOfMemoryError",
    # What judges a row is one large method, and would be interpreted for ever.
    "-XX:-DontCompileHugeMethods",
    # A broken Avro record may claim to hold two gigabytes; to make room for them would be the end.
    "-Dorg.apache.avro.limits.bytes.maxLength=67108864",
    "-Dorg.apache.avro.limits.string.maxLength=67108864",
    "-Dorg.apache.avro.limits.collectionItems.maxLength=4194304",
)


class EngineParts(Frozen):
    """Millrace's own reader of Kafka and writer of tables, or those that Spark and Delta bring.

    The own parts are quicker and use internals of Spark and Delta. The others are the way back
    where a new version, or a managed Spark, has other internals; the promises stay the same.
    """

    reader: Literal["millrace", "spark"] = "millrace"
    writer: Literal["millrace", "delta"] = "millrace"


class EngineSpec(Frozen):
    """Holds no secret: Spark shows its settings to every user of the machine."""

    memory: str
    # Folders of jars.
    class_path: tuple[Path, ...]
    # Where tables and checkpoints are; none: in folders.
    bucket: Bucket | None = None
    # Where the rows are worked on; none: in the job's own process.
    cluster: Cluster | None = None
    # The JVM is there first, and starts the job's Python.
    is_submitted: bool = False
    parts: EngineParts = EngineParts()


class Tables(Frozen):
    """The tables of one pipeline, each a folder's path or a URI."""

    bronze: str
    silver: str
    quarantine: str


def class_path(engine: EngineSpec) -> str:
    return ":".join(f"{folder}/*" for folder in engine.class_path)


def class_archive(engine: EngineSpec) -> Path:
    """Beside Millrace's own jar: the classes that Spark loads, as the installer found them."""
    return engine.class_path[-1] / "classes.jsa"
