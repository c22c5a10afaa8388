"""The Spark session of a job: one JVM, which listens on loopback alone."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import Literal

import pyspark
from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from millrace.base.addresses import EVERYWHERE, LOOPBACK
from millrace.base.errors import MillraceError
from millrace.settings.core.engine import JVM_OPTIONS, EngineSpec, class_archive, class_path
from millrace.settings.core.spark_cluster import Cluster, cluster_settings
from millrace.storage.core.bucket import java_options, spark_settings

_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

_POLL_S = 0.1
# Whoever stops a submitted job kills it sooner than that.
_LONGEST_STOP_S = 1800

_LOG_OPTION = f"-Dlog4j2.configurationFile={_LOG_SETTINGS}"


# Which of them a session's readers use: ours is jvm/src/millrace/kafka.
READER = "spark.millrace.reader"
# A job that goes on for ever, batch by batch, or a job that ends.
Work = Literal["stream", "task"]
READERS = {"millrace": "millrace.kafka.Source", "spark": "kafka"}


class NoExecutorError(MillraceError):
    """A cluster that starts no executor."""

    def __init__(self, memory: str, within_s: int) -> None:
        super().__init__(
            f"the Spark cluster gave no executor of {memory} within {within_s} s:"
            " its workers are away or full; 'millrace status' shows them, and fewer tasks at once"
            " or a smaller resources.memory make room"
        )


def session_settings(name: str, engine: EngineSpec, work: Work) -> dict[str, str]:
    """All of Spark's settings; they are visible to every user of the machine, so no secret."""
    return {
        "spark.app.name": f"millrace-{name}",
        **({} if engine.is_submitted else _of_own_jvm(engine)),
        **_DELTA,
        **_EVERYWHERE,
        **_OF_WORK[work],
        READER: READERS[engine.parts.reader],
        **(spark_settings(engine.bucket) if engine.bucket else {}),
    }


def _of_own_jvm(engine: EngineSpec) -> dict[str, str]:
    """Of a JVM that this process starts; one that started this process knows its own."""
    engine = _by_real_paths(engine)
    return {
        "spark.master": "local[2]",
        **(_in_cluster(engine.cluster, engine) if engine.cluster else {}),
        "spark.driver.memory": engine.memory,
        "spark.driver.extraClassPath": class_path(engine),
        "spark.driver.extraJavaOptions": f"{_LOG_OPTION} {_options(engine)}",
        **_CLOSED_TO_OTHERS,
        **_driver_address(engine.cluster),
    }


def _in_cluster(cluster: Cluster, engine: EngineSpec) -> dict[str, str]:
    return {
        **cluster_settings(cluster),
        "spark.executor.memory": engine.memory,
        "spark.executor.extraClassPath": class_path(engine),
        "spark.executor.extraJavaOptions": _options(engine),
    }


def _by_real_paths(engine: EngineSpec) -> EngineSpec:
    """The archive of classes knows the jars by them."""
    folders = tuple(folder.resolve() for folder in engine.class_path)
    return engine.model_copy(update={"class_path": folders})


def _options(engine: EngineSpec) -> str:
    store = java_options(engine.bucket) if engine.bucket else ()
    return " ".join((*JVM_OPTIONS, *_archived(engine), *store))


def _archived(engine: EngineSpec) -> tuple[str, ...]:
    """See spark_jobs/ingest/class_archive.py."""
    there = engine.class_path and class_archive(engine).is_file()
    return (f"-XX:SharedArchiveFile={class_archive(engine)}",) if there else ()


# In local mode Spark makes up the shared secret itself and keeps it in memory.
_CLOSED_TO_OTHERS = {
    "spark.ui.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
}


def _driver_address(cluster: Cluster | None) -> dict[str, str]:
    """Where executors reach it: on loopback, or by this machine's name at all it has."""
    if cluster and cluster.apart:
        return {"spark.driver.host": socket.gethostname(), "spark.driver.bindAddress": EVERYWHERE}
    return {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}


_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Several drivers may write one table: see jvm/src/millrace/logstore.
    "spark.delta.logStore.file.impl": "millrace.logstore.LocalLogStore",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Each pipeline and site is a writer. Above this number a commit runs a Spark job to learn of
    # its last batch (docs/adr/0006); Delta's own limit is 100.
    "spark.databricks.delta.setTransactionsInCrc.maxAllowed": "10000",
    # Spark's own INT96 is deprecated by Parquet, half as large again, and has no bounds in footers.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # The writers keep the order of rows; sorting by the partition column would not promise to.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}

_EVERYWHERE = {
    # Hadoop's own forks a process for every file it makes: see jvm/src/millrace/fs.
    "spark.hadoop.fs.file.impl": "millrace.fs.LocalFs",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "millrace.fs.LocalContext",
    # A pool for each site: the next free core is the site's that has fewest.
    "spark.scheduler.mode": "FAIR",
    # A vacuum lists a table's folders in as many Spark tasks, of which a table of a year has use
    # for 400, two at a time; Spark's own number is 10,000, which is a minute of empty tasks.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    # How soon the source is asked whether it is time to look; it looks at its own pace.
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.sql.streaming.stopTimeout": "2s",
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "false",
    "spark.cleaner.periodicGC.interval": "6h",
}

_OF_WORK: dict[Work, dict[str, str]] = {
    # A batch is small, and the next waits for it: no time for plans that change on their way.
    "stream": {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"},
    # A day of a table may be 50 million rows. Small ones are joined again on their way.
    "task": {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "64"},
}


def build_session(name: str, engine: EngineSpec, work: Work = "stream") -> SparkSession:
    settings = session_settings(name, engine, work)
    if engine.is_submitted:
        return _join_session(settings)
    # Free memory goes back to the system sooner with few arenas; the JVM makes many threads.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    if not (engine.cluster and engine.cluster.apart):
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # By its real path, as the jars.
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).resolve().parent))
    if engine.cluster:
        # A setting would be an argument of the JVM, for everybody to read.
        arguments = f"--properties-file {engine.cluster.secret_file} pyspark-shell"
        os.environ["PYSPARK_SUBMIT_ARGS"] = arguments
    session = _open(settings)
    if engine.cluster:
        _await_executor(session, engine.memory, engine.cluster)
    return session


def _join_session(settings: dict[str, str]) -> SparkSession:
    """Of the JVM that started this process, and that is told first when the job is to stop."""
    session = _open(settings)
    hook = session.sparkContext._jvm.millrace.submit.StopPythonFirst  # noqa: SLF001 - no other door
    hook.install(os.getpid(), _LONGEST_STOP_S)
    return session


def _open(settings: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    _authenticate_callbacks(session)
    return session


def _await_executor(session: SparkSession, memory: str, cluster: Cluster) -> None:
    """Spark would wait for ever for a cluster that has no room."""
    deadline_s = time.monotonic() + cluster.executor_within_s
    java = session.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no public door to it
    # The driver counts as one.
    while java.getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > deadline_s:
            session.stop()
            raise NoExecutorError(memory, cluster.executor_within_s)
        time.sleep(_POLL_S)


def _authenticate_callbacks(session: SparkSession) -> None:
    """Batches come back to Python through a port; PySpark leaves it open to every local user."""
    gateway = session.sparkContext._gateway  # noqa: SLF001 - PySpark has no public door to it
    token = gateway.java_parameters.auth_token
    gateway.python_parameters.auth_token = token
    ensure_callback_server_started(gateway)
    # Starting it makes a copy of the JVM's client, and the copy forgets the token.
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001 - as above
    client = server.getCallbackClient()
    field = client.getClass().getSuperclass().getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, token)
