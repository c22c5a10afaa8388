"""Numbers that a producer gave to two messages, as two lives of it did not know of each other."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millrace.base.ranges import Range
from millrace.repair.core.alarms import Alarm, forked_alarm
from spark_jobs.refine.producer_numbers import numbered

_PRODUCER = ("site", "producer", "epoch")


def look_for_forks(bronze: DataFrame, words_with_twins: DataFrame) -> tuple[Alarm, ...]:
    """`words_with_twins`: producers, and numbers divided by 64; nothing else is looked at."""
    rows = numbered(bronze, f.xxhash64("key", "value").alias("content"))
    suspects = rows.withColumn("word", f.shiftright("number", 6)).join(
        words_with_twins, [*_PRODUCER, "word"]
    )
    forked = (
        suspects.groupBy(*_PRODUCER, "number")
        .agg(f.min("content").alias("one"), f.max("content").alias("other"))
        .where("one != other")
        .groupBy(*_PRODUCER)
        .agg(f.count("*").alias("numbers"), f.min("number"), f.max("number"))
    )
    return tuple(
        forked_alarm(site, producer, epoch, numbers, Range(first=first, last=last))
        for site, producer, epoch, numbers, first, last in sorted(forked.collect())
    )
