"""Proves that nothing is missing and nothing doubled, or says what is.

python -m spark_jobs.repair.continuity TASK.json
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from millrace.base.instants import latest_of
from millrace.base.ranges import Ranges, count, hull, without
from millrace.ingest.core.ends import below
from millrace.kafka.core.coordinates import Part, since_day
from millrace.repair.core.alarms import (
    Alarm,
    AlarmKind,
    disagreement_alarm,
    doubles_alarm,
    unreachable_alarm,
)
from millrace.repair.core.verify_spec import (
    ContinuityResult,
    ContinuitySpec,
    Facts,
    PartitionVerdict,
    PartState,
    judge,
    part_alarms,
    to_ask,
    topics_with_empty_offsets,
)
from spark_jobs.engine.reading import read_table
from spark_jobs.engine.task_main import run_task, say
from spark_jobs.kafka.far_time_errors import far_times_named
from spark_jobs.kafka.kafka_span import read_spans, refuse_other_topics
from spark_jobs.repair.agreement import LAYERS, Found, compare, exact_doubles
from spark_jobs.repair.coverage import ranges_of, words_of
from spark_jobs.repair.producers import look_at_producers
from spark_jobs.repair.site_view import SiteView, look_at_sites
from spark_jobs.repair.stream_ends import committed_ends


def verify(spark: SparkSession, task: ContinuitySpec) -> ContinuityResult:
    # The ends are fixed first: below them the stream has written all tables.
    ends = {site.site: committed_ends(task, site.checkpoint) for site in task.inputs}
    sites = look_at_sites(task, ends)
    tables = _tables(spark, task, below(ends))
    say("comparing the tables")
    compared = compare(tables, latest_of(task.bronze_from, task.refined_from))
    facts = _facts(sites, compared.found["bronze"], task.bronze_from)
    at_broker = _ask_brokers(spark, task, facts)
    refuse_other_topics(task.inputs, at_broker)
    verdicts = _judge(facts, at_broker)
    names = {part: _named(part, sites) for part in facts}
    producers, gaps = look_at_producers(tables["bronze"], sites, task.settle_s)
    return ContinuityResult(
        parts=tuple(
            _state(names[part], facts[part], verdicts[part]) for part in sorted(facts, key=_by_name)
        ),
        days=compared.days,
        producers=producers,
        alarms=(
            *(unreachable_alarm(site.site, site.error) for site in sites if site.error),
            *_hole_alarms(task, facts, verdicts, names),
            *_table_alarms(task, tables, compared.found, names),
            *gaps,
        ),
    )


def _tables(spark: SparkSession, task: ContinuitySpec, settled: str) -> dict[str, DataFrame]:
    layers = LAYERS if task.is_refined else ("bronze",)
    tables = {}
    for layer in layers:
        rows = read_table(spark, getattr(task.tables, layer))
        tables[layer] = rows.where(f"{settled} AND {since_day(task.bronze_from)}")
    return tables


def _facts(
    sites: list[SiteView], present: Mapping[Part, Ranges], first_day: date | None
) -> dict[Part, Facts]:
    known = {part for site in sites for part in site.parts} | present.keys()
    views = {site.site: site for site in sites}
    return {
        part: views[part.site].facts(part, present.get(part, ()), first_day)
        for part in known
        if part.site in views
    }


def _ask_brokers(
    spark: SparkSession, task: ContinuitySpec, facts: Mapping[Part, Facts]
) -> Mapping[Part, Ranges]:
    """What the brokers still have, from the first to the last hole of each partition."""
    asked = {part: hull(ranges) for part, one in facts.items() if (ranges := to_ask(one))}
    if not asked:
        return {}
    say(f"asking the broker about holes in {len(asked)} partitions")
    rows = read_spans(spark, task.pipeline, task.inputs, asked)
    if rows is None:
        return {}
    kept = rows.where(since_day(task.bronze_from))
    with far_times_named(task.pipeline, task.inputs, asked):
        return ranges_of(words_of({"broker": kept}), {"broker": "broker"})["broker"]


def _judge(
    facts: Mapping[Part, Facts], at_broker: Mapping[Part, Ranges]
) -> dict[Part, PartitionVerdict]:
    empty = {part: without(to_ask(one), at_broker.get(part, ())) for part, one in facts.items()}
    marked = topics_with_empty_offsets(empty)
    return {
        part: judge(
            one,
            at_broker.get(part, ()),
            has_empty_offsets=(part.site, part.topic) in marked,
        )
        for part, one in facts.items()
    }


def _state(part: Part, facts: Facts, verdict: PartitionVerdict) -> PartState:
    return PartState(
        **part._asdict(),
        rows=count(facts.present),
        first=facts.present[0].first if facts.present else None,
        last=facts.present[-1].last if facts.present else None,
        committed=facts.committed,
        low=facts.held.low if facts.held else None,
        high=facts.held.high if facts.held else None,
        empty=verdict.empty,
        unproven=verdict.unproven,
    )


def _named(part: Part, sites: list[SiteView]) -> Part:
    """As people know it: without an id where it is of the topic that is there now."""
    is_now = any(view.is_now(part) for view in sites if view.site == part.site)
    return part.now if is_now else part


def _by_name(part: Part) -> tuple[str, str, int, str]:
    return part.site, part.topic, part.partition, part.topic_id


def _hole_alarms(
    task: ContinuitySpec,
    facts: Mapping[Part, Facts],
    verdicts: Mapping[Part, PartitionVerdict],
    names: Mapping[Part, Part],
) -> Iterator[Alarm]:
    for part in sorted(facts):
        yield from part_alarms(task.pipeline, names[part], facts[part], verdicts[part])


def _table_alarms(
    task: ContinuitySpec,
    tables: Mapping[str, DataFrame],
    found: Found,
    names: Mapping[Part, Part],
) -> Iterator[Alarm]:
    for kind in (AlarmKind.UNREFINED, AlarmKind.IN_BOTH, AlarmKind.ORPHANED):
        for part, ranges in sorted(found.get(kind.replace("-", "_"), {}).items()):
            yield disagreement_alarm(task.pipeline, kind, names.get(part, part), ranges)
    for layer, rows in tables.items():
        doubles = exact_doubles(rows, found[f"doubled_{layer}"])
        for part, ranges in sorted(doubles.items()):
            yield doubles_alarm(layer, names.get(part, part), ranges)


if __name__ == "__main__":
    sys.exit(run_task(ContinuitySpec, verify))
