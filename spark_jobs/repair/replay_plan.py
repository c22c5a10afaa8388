"""What a replay may touch: asked of the brokers, the checkpoints and the bronze table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.base.errors import MillraceError
from millrace.ingest.core.ends import Ends
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets, Partition
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.replay_spec import OffsetWindow, PartPlan, ReplaySpec, plan_part
from spark_jobs.engine.reading import read_table
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.topic_ids import TopicIds
from spark_jobs.repair.stream_ends import committed_ends


def plan_parts(spark: SparkSession, task: ReplaySpec) -> dict[Part, PartPlan]:
    bronze = read_table(spark, task.tables.bronze)
    plan = _from_brokers if task.origin == "kafka" else _from_bronze
    return dict(plan(task, bronze))


def _from_brokers(task: ReplaySpec, bronze: DataFrame) -> Iterator[tuple[Part, PartPlan]]:
    for site in task.inputs:
        ends = committed_ends(task, site.checkpoint)
        for part, (held, window) in _ask_broker(task, site, ends, bronze).items():
            yield part, plan_part(window, ends.owned_from(part), held)


def _ask_broker(
    task: ReplaySpec, site: SiteInput, ends: Ends, bronze: DataFrame
) -> dict[Part, tuple[HeldOffsets, OffsetWindow]]:
    broker = Broker(site, group=f"millrace-{task.pipeline}-replay", timeout_s=15.0)
    try:
        ids = TopicIds(site, timeout_s=15.0)()
        bounds = {p: one for p, one in broker.bounds().items() if p[0] in ids}
        held = {_part(site, p, ends, ids): one for p, one in bounds.items()}
        held = {
            part: HeldOffsets(max(one.low, ends.begins(part) or 0), one.high)
            for part, one in held.items()
        }
        named = _only_named(task, held)
        return {part: (named[part], w) for part, w in _windows(task, broker, named, bronze).items()}
    except KafkaException as error:
        raise MillraceError(f"site {site.site!r}: {error.args[0].str()}") from error
    finally:
        broker.close()


def _only_named(task: ReplaySpec, held: Mapping[Part, HeldOffsets]) -> dict[Part, HeldOffsets]:
    """Without partitions that were not asked for; all that were have to be there."""
    for number in task.partitions or ():
        if not any(part.partition == number for part in held):
            known = sorted({part.partition for part in held})
            raise MillraceError(f"there is no partition {number}; partitions are {known}")
    wanted = task.partitions
    return {p: b for p, b in held.items() if wanted is None or p.partition in wanted}


def _windows(
    task: ReplaySpec, broker: Broker, held: Mapping[Part, HeldOffsets], bronze: DataFrame
) -> dict[Part, OffsetWindow]:
    asked = task.asked
    if not asked.since and not asked.until:
        return dict.fromkeys(held, _by_offsets(task))
    begins = _offsets_at(broker, held, asked.since)
    ends = _offsets_at(broker, held, asked.until)
    forgotten = [p for p, begin in begins.items() if 0 < held[p].low == begin]
    known = _ends_before(bronze, asked.since) if asked.since and forgotten else {}
    begins |= {part: min(known.get(part, 0), held[part].low) for part in forgotten}
    return {part: OffsetWindow(begins.get(part), ends.get(part)) for part in held}


def _by_offsets(task: ReplaySpec) -> OffsetWindow:
    last = task.asked.last
    return OffsetWindow(task.asked.first, None if last is None else last + 1)


def _offsets_at(
    broker: Broker, held: Mapping[Part, HeldOffsets], at: datetime | None
) -> dict[Part, int]:
    if at is None:
        return {}
    found = broker.offsets_at(at, [(part.topic, part.partition) for part in held])
    return {part: found[part.topic, part.partition] for part in held}


def _ends_before(bronze: DataFrame, since: datetime) -> dict[Part, int]:
    """Where the records before a time end, as far as bronze knows them."""
    before = bronze.where((f.col("day") <= since.date()) & (f.col("kafka_time") < f.lit(since)))
    rows = before.groupBy(*Part._fields).agg(f.max("offset").alias("last")).collect()
    return {Part(*row[:-1]): row.last + 1 for row in rows}


def _from_bronze(task: ReplaySpec, bronze: DataFrame) -> Iterator[tuple[Part, PartPlan]]:
    ends = {site.site: committed_ends(task, site.checkpoint) for site in task.inputs}
    for part, (window, end) in _stored_windows(task, bronze).items():
        owned = ends[part.site].owned_from(part)
        if owned is None and window.end is None:
            window = OffsetWindow(window.begin, end)
        yield part, plan_part(window, owned, held=None)


def _stored_windows(task: ReplaySpec, bronze: DataFrame) -> dict[Part, tuple[OffsetWindow, int]]:
    """Each with the end of all that bronze has of it."""
    rows = bronze.where(f.col("site").isin([site.site for site in task.inputs]))
    rows = rows.where(f.col("topic").isin(list(task.inputs[0].topics)))
    if task.partitions is not None:
        rows = rows.where(f.col("partition").isin(list(task.partitions)))
    if task.asked.since:
        rows = rows.where(f.col("day") >= task.asked.since.date())
        rows = rows.where(f.col("kafka_time") >= f.lit(task.asked.since))
    if task.asked.until:
        rows = rows.where(f.col("day") <= task.asked.until.date())
        rows = rows.where(f.col("kafka_time") < f.lit(task.asked.until))
    ends = f.min("offset").alias("first"), f.max("offset").alias("last")
    found = rows.groupBy(*Part._fields).agg(*ends)
    by_offsets = _by_offsets(task)
    return {
        Part(row.site, row.topic, row.partition, row.topic_id): (
            OffsetWindow(
                row.first if by_offsets.begin is None else by_offsets.begin,
                row.last + 1 if task.asked.until else by_offsets.end,
            ),
            row.last + 1,
        )
        for row in found.collect()
    }


def _part(site: SiteInput, partition: Partition, ends: Ends, ids: Mapping[str, str]) -> Part:
    topic, number = partition
    return Part(site.site, topic, number, ends.id_now(topic, ids[topic]))
