"""From bronze rows to silver and quarantine: decoded, typed, judged. Columns in, columns out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.kafka.core.record_time import EARLIEST, LATEST
from millrace.lake.core import bronze, silver
from millrace.lake.core.columns import Column as Declared
from millrace.lake.core.refine import RefineSpec, Rule
from millrace.lake.core.tally import OLDEST_MS, STAGES, rule_key, stage_key
from millrace.settings.core.engine import Tables
from spark_jobs.engine.append import Output
from spark_jobs.engine.java import java_column, jvm
from spark_jobs.refine.duplicate_rows import TWIN

_STAGE = "stage"  # that refused the row; null: none did
# A declared column's name never begins so.
_MESSAGE, _UNDECODABLE = "_message", "_undecodable"
_RAW = {name: f"_{name}" for name in ("key", "headers", "value")}
_ACCEPTED, _REFUSED = "_accepted", "_refused"
_CAME_BEFORE = "twin: its producer's number came before"
_NO_TIME = f"time: the broker's is not between {EARLIEST.year} and {LATEST.year}"
_MISTYPED, _MISSING, _BROKEN = "_mistyped", "_missing", "_broken"


def refine(rows: DataFrame, spec: RefineSpec) -> DataFrame:
    """Bronze rows with their typed columns and the verdict on each. Where twins are marked, they
    are refused.

    A verdict is a bit for every column and every rule; what they mean is written out for the
    refused rows alone.
    """
    message = _decode(rows.sparkSession, spec)
    named = rows.withColumnsRenamed(_RAW)
    decoded = named.withColumn(_MESSAGE, message).select(*named.columns, f"{_MESSAGE}.*")
    timed = decoded.withColumn("event_time", _event_time(spec.event_time)).withColumn(
        "latency_ms", f.unix_millis("ingested_at") - f.unix_millis("event_time")
    )
    readable = f.col(_UNDECODABLE).isNull()
    masks = {_MISSING: _missing(spec.columns), _BROKEN: [f.expr(r.broken) for r in spec.rules]}
    judged = timed.withColumns({name: _mask(readable, bits) for name, bits in masks.items()})
    if TWIN not in rows.columns:
        judged = judged.withColumn(TWIN, f.lit(False))
    return judged.withColumn(_STAGE, _stage(spec.rules))


def with_verdicts(judged: DataFrame, spec: RefineSpec) -> DataFrame:
    """Who takes each row, and why it was refused; counted on the way, see lake/core/tally.py."""
    accepted = f.col(_STAGE).isNull()
    whole = judged.withColumns(
        {
            _ACCEPTED: accepted,
            _REFUSED: ~accepted,
            "reasons": f.when(~accepted, reasons(spec)),
        }
    )
    return whole.observe("verdicts", *_verdict_counts(spec))


def count_verdicts(judged: DataFrame, spec: RefineSpec) -> dict[str, int]:
    """The same counts, by a pass over the rows that is made for nothing else."""
    (counts,) = judged.agg(*_verdict_counts(spec)).collect()
    return dict(counts.asDict())


def _verdict_counts(spec: RefineSpec) -> list[Column]:
    stages = {stage_key(stage): f.col(_STAGE) == stage for stage in STAGES}
    rules = {rule_key(rule.id): _bit(_BROKEN, n) for n, rule in enumerate(spec.rules)}
    counts = [f.count(f.when(found, 1)).alias(key) for key, found in (stages | rules).items()]
    return [f.min(f.unix_millis("kafka_time")).alias(OLDEST_MS), *counts]


def outputs(tables: Tables, spec: RefineSpec) -> tuple[Output, Output, Output]:
    """What bronze, silver and quarantine take of the rows that have their verdicts."""
    raw, refused = _names(bronze.COLUMNS), _names(silver.QUARANTINE)
    accepted = _names(silver.silver_schema(spec.columns))
    return (
        Output(tables.bronze, raw, _sources(raw)),
        Output(tables.silver, accepted, accepted, when=_ACCEPTED),
        Output(tables.quarantine, refused, _sources(refused), when=_REFUSED),
    )


def _names(schema: silver.Schema) -> list[str]:
    return [name for name, _ in schema]


def _sources(names: Sequence[str]) -> list[str]:
    return [_RAW.get(name, name) for name in names]


def silver_rows(judged: DataFrame, spec: RefineSpec) -> DataFrame:
    names = _names(silver.silver_schema(spec.columns))
    return judged.where(f.col(_STAGE).isNull()).select(names)


def quarantine_rows(judged: DataFrame, spec: RefineSpec) -> DataFrame:
    return refused_rows(judged.where(f.col(_STAGE).isNotNull()), spec)


def refused_rows(judged: DataFrame, spec: RefineSpec) -> DataFrame:
    """All of the rows for quarantine, with what is against each."""
    columns = [f.col(_RAW.get(name, name)).alias(name) for name, _ in silver.QUARANTINE]
    # Only after a crash in the middle of a batch, with other rules before and after it.
    stage = f.coalesce(_STAGE, f.lit("earlier"))
    return judged.withColumns({_STAGE: stage, "reasons": reasons(spec)}).select(columns)


def reasons(spec: RefineSpec) -> Column:
    """Every reason against a row, such as `missing: sensor_id`; empty for an accepted one.

    `array_compact` would be shorter, but no compiled code: each row would be copied once more.
    """
    names = [column.name for column in spec.columns]
    found = (
        f.when(_unbelievable(), f.lit(_NO_TIME)),
        f.when(f.col(TWIN), f.lit(_CAME_BEFORE)),
        f.col(_UNDECODABLE),
        *_named(_MISSING, "missing", enumerate(names)),
        *_named(_MISTYPED, "wrong-type", enumerate(names)),
        *_named(_BROKEN, "rule", _critical(spec.rules)),
    )
    none = f.array().cast("array<string>")
    return f.flatten(
        f.array(*(f.when(one.isNotNull(), f.array(one)).otherwise(none) for one in found))
    )


def _decode(session: SparkSession, spec: RefineSpec) -> Column:
    """See jvm/src/millrace/refine; PySpark's `Column` has its counterpart in Java."""
    java = jvm(session).millrace.refine
    columns = json.dumps([{"type": c.type, "path": c.path} for c in spec.columns])
    if spec.format == "avro":
        decoder = java.AvroDecoder(columns, json.dumps(spec.schemas))
    else:
        decoder = java.JsonDecoder(columns)
    value = java_column(f.col(_RAW["value"]))
    return Column(decoder.apply(value, _struct(spec.columns)))


def _struct(columns: Sequence[Declared]) -> str:
    declared = [f"`{column.name}` {column.type}" for column in columns]
    own = ["payload variant", f"{_MISTYPED} bigint", f"{_UNDECODABLE} string"]
    return ", ".join([*declared, *own])


def _event_time(name: str | None) -> Column:
    """A clock that runs ahead is held back to the broker's."""
    broker = f.col("kafka_time")
    return f.least(f.coalesce(f.col(name), broker), broker) if name else broker


def _missing(columns: Sequence[Declared]) -> list[Column]:
    """A value of the wrong type is null too, but not missing."""
    return [
        f.lit(column.required) & f.col(column.name).isNull() & ~_bit(_MISTYPED, number)
        for number, column in enumerate(columns)
    ]


def _stage(rules: Sequence[Rule]) -> Column:
    critical = sum(1 << number for number, _ in _critical(rules))
    wrong = (f.col(_MISTYPED) != 0) | (f.col(_MISSING) != 0)
    return (
        f.when(_unbelievable(), "time")
        .when(f.col(TWIN), "twin")
        .when(f.col(_UNDECODABLE).isNotNull(), "decode")
        .when(wrong, "type")
        .when(f.col(_BROKEN).bitwiseAND(_long(critical)) != 0, "rule")
    )


def _unbelievable() -> Column:
    """At the bounds stands what lay beyond them."""
    micros = f.unix_micros("kafka_time")
    return (micros <= _micros(EARLIEST)) | (micros >= _micros(LATEST))


def _micros(at: datetime) -> Column:
    return _long(int(at.timestamp()) * 1_000_000)


def _critical(rules: Sequence[Rule]) -> list[tuple[int, str]]:
    return [(n, rule.id) for n, rule in enumerate(rules) if rule.severity == "critical"]


def _named(mask: str, why: str, names: Iterable[tuple[int, str]]) -> list[Column]:
    return [f.when(_bit(mask, number), f.lit(f"{why}: {name}")) for number, name in names]


def _bit(mask: str, number: int) -> Column:
    return f.col(mask).bitwiseAND(_long(1 << number)) != 0


def _mask(applies: Column, conditions: Sequence[Column]) -> Column:
    mask = _long(0)
    for number, condition in enumerate(conditions):
        mask = mask.bitwiseOR(f.when(applies & condition, _long(1 << number)).otherwise(_long(0)))
    return mask


def _long(number: int) -> Column:
    return f.lit(number).cast("bigint")
