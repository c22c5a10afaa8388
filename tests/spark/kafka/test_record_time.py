"""Times of records that nobody can believe: kept, bounded, and refused by silver."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from millrace.kafka.core.record_time import DAYS_AHEAD, DAYS_BEHIND, EARLIEST, LATEST, RAW_HEADER
from spark_jobs.engine.java import jvm
from spark_jobs.engine.session import READER, READERS
from spark_jobs.kafka.source import with_bounded_times
from tests.spark.fake_stream import RECORDS, FakeStream

NOON_MS = 1_763_467_200_123
_TIMESTAMP, _HEADERS = 5, 7


def row_of(spark: SparkSession, milliseconds: int) -> JavaObject:
    """As the source hands on a record without headers."""
    java = jvm(spark)
    common, none = java.org.apache.kafka.common, java.java.util.Optional.empty()
    record = java.org.apache.kafka.clients.consumer.ConsumerRecord(
        "t", 0, 7, milliseconds, common.record.TimestampType.CREATE_TIME, 0, 0, None,
        bytearray(b"v"), common.header.internals.RecordHeaders(), none,
    )  # fmt: skip
    row = java.millrace.kafka.RecordRow("t")
    row.set(record)
    return row


@pytest.mark.parametrize(
    ("milliseconds", "bound"),
    [(2**62, LATEST), (-(2**62), EARLIEST), (-1, EARLIEST), (2**63 - 1, LATEST)],
)
def test_an_absurd_time_becomes_a_bound_and_is_kept_in_a_header(
    spark: SparkSession, milliseconds: int, bound: datetime
) -> None:
    row = row_of(spark, milliseconds)
    assert row.getLong(_TIMESTAMP) == int(bound.timestamp()) * 1_000_000
    header = row.getArray(_HEADERS).array()[0]
    assert header.getUTF8String(0).toString() == RAW_HEADER
    assert bytes(header.getBinary(1)) == str(milliseconds).encode()


def test_a_time_that_can_be_believed_stays_as_it_is(spark: SparkSession) -> None:
    row = row_of(spark, NOON_MS)
    assert row.getLong(_TIMESTAMP) == NOON_MS * 1000
    assert row.isNullAt(_HEADERS)


def test_rows_without_a_time_are_in_bronze_and_in_quarantine(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = FakeStream(spark, tmp_path)
    stream.batch(9, datetime(2026, 11, 18, 12, tzinfo=UTC))
    stream.batch(1, LATEST)
    stream.batch(1, EARLIEST)
    assert stream.offsets("bronze") == list(range(11))
    assert stream.offsets("silver") == list(range(1, 9))
    refused = spark.read.format("delta").load(stream.tables.quarantine).where("offset > 8")
    assert [(row.stage, row.reasons[0]) for row in refused.collect()] == 2 * [
        ("time", "time: the broker's is not between 2000 and 2100")
    ]


TODAY = date(2025, 11, 18)


@pytest.mark.parametrize(
    ("day", "kept"),
    [
        (TODAY, TODAY),
        (TODAY - timedelta(days=DAYS_BEHIND), TODAY - timedelta(days=DAYS_BEHIND)),
        (TODAY - timedelta(days=DAYS_BEHIND + 1), date(2023, 11, 1)),
        (TODAY + timedelta(days=DAYS_AHEAD), TODAY + timedelta(days=DAYS_AHEAD)),
        (TODAY + timedelta(days=DAYS_AHEAD + 1), date(2026, 11, 1)),
        (date(2001, 2, 28), date(2001, 2, 1)),
        (date(2099, 12, 31), date(2099, 12, 1)),
    ],
)
def test_a_row_far_from_its_reading_is_of_the_first_of_its_month(
    spark: SparkSession, day: date, kept: date
) -> None:
    read = jvm(spark).millrace.refine.Moment(_micros(TODAY) + 1)
    for micros in (_micros(day), _micros(day + timedelta(days=1)) - 1):
        assert read.dayOf(micros) == (kept - date(1970, 1, 1)).days


def _micros(day: date) -> int:
    return (day - date(1970, 1, 1)) // timedelta(microseconds=1)


def test_a_producer_that_counts_through_the_calendar_makes_few_folders(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = FakeStream(spark, tmp_path)
    for day in (3, 14, 27):
        stream.batch(2, datetime(2001, 5, day, tzinfo=UTC))
        stream.batch(2, datetime(2098, 7, day, tzinfo=UTC))
    for table in (stream.tables.bronze, stream.tables.silver):
        folders = [folder.name for folder in Path(table).glob("day=*")]
        assert sorted(folders) == ["day=2001-05-01", "day=2098-07-01"]
    assert stream.offsets("bronze") == list(range(12))


def test_sparks_own_reader_gives_the_same_times(spark: SparkSession) -> None:
    own = spark.newSession()
    own.conf.set(READER, READERS["spark"])
    believed = datetime(2025, 11, 18, tzinfo=UTC)
    times = [datetime(1999, 12, 31, tzinfo=UTC), LATEST + timedelta(milliseconds=1), believed]
    records = [(b"k", b"v", "t", 0, n, time, 0, None) for n, time in enumerate(times)]
    found = with_bounded_times(own.createDataFrame(records, RECORDS)).collect()
    assert [row.timestamp.astimezone(UTC) for row in found] == [EARLIEST, LATEST, believed]
    raw = [[(h.key, int(h.value)) for h in row.headers or ()] for row in found]
    assert raw == [
        [(RAW_HEADER, 946_598_400_000)],
        [(RAW_HEADER, 4_102_444_800_001)],
        [],
    ]
    assert found[2].headers is None
