"""A stream whose turn says to rest reads nothing, and asks its broker nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from spark_jobs.engine.java import jvm

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

# Nobody listens there, so that any question would fail.
_OPTIONS = {
    "kafka.bootstrap.servers": "127.0.0.1:9",
    "subscribe": "resting",
    "includeHeaders": "true",
    "turn": "a-stream-that-rests",
}


@pytest.fixture
def resting(spark: SparkSession) -> JavaObject:
    java = jvm(spark)
    options = java.java.util.HashMap()
    for key, value in _OPTIONS.items():
        options.put(key, value)
    options = java.org.apache.spark.sql.util.CaseInsensitiveStringMap(options)
    table = java.millrace.kafka.Source().getTable(None, None, options)
    stream = table.newScanBuilder(options).build().toMicroBatchStream("")
    java.millrace.kafka.Turn.of(_OPTIONS["turn"]).next(1_000, 600_000)
    return stream


def test_a_stream_that_rests_after_a_batch_of_an_earlier_life_goes_on(resting: JavaObject) -> None:
    """Spark plans no such batch anew, so the stream is first asked where to go in its rest."""
    begin = resting.deserializeOffset('{"resting": {"0": 5000}}')
    assert resting.latestOffset(begin, resting.getDefaultReadLimit()).equals(begin)
    assert resting.reportLatestOffset() is None
