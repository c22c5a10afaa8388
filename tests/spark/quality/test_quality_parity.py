"""A compiled rule and Great Expectations say the same of every row, for every type there is."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.expectations.core.regex import check_regex
from millrace.expectations.core.row_level import ROW_LEVEL
from spark_jobs.quality.suite_run import read_suite, validate

COLUMNS = {
    "n": "int",
    "weight": "int",
    "v": "double",
    "w": "double",
    "l": "bigint",
    "i": "int",
    "s": "string",
    "t": "string",
    "at": "timestamp",
    "until": "timestamp",
    "d": "date",
    "day": "date",
    "b": "boolean",
    "c": "boolean",
}
NAN, INF = math.nan, math.inf
EDGES: dict[str, list[Any]] = {
    "double": [0.0, -0.0, 1.0, NAN, INF, -INF, 5e-324, 1.7976931348623157e308, 2.0**53, 0.1, -60.0],
    "bigint": [0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**31, 60000],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), 7],
    "string": [
        *("", " ", "a", "A", "é", "é", "😀", "ß", "a'b", "a\\b", "a\\\\b", 'a"b', "a`b", "%", "_"),
        *(
            "$",
            "${x}",
            "${spark.app.name}",
            "a\nb",
            "a\n",
            "a\tb",
            "\0",
            "abc",
            "ab",
            "\u2028",
            "42",
        ),
    ],
    "timestamp": [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2024, 2, 29, 12, tzinfo=UTC),
        datetime(2025, 3, 30, 1, 30, tzinfo=UTC),  # an hour that Central Europe skips
        datetime(2025, 10, 26, 0, 30, tzinfo=UTC),  # and one that it has twice
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1900, 1, 1, tzinfo=UTC),
        datetime(2025, 1, 31, 8, tzinfo=UTC),
    ],
    "date": [date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31), date(1, 1, 1)],
    "boolean": [True, False],
}
ROWS = 120
REGEX_PARTS = [
    *"abA1 -^$.|?*+()[]{},:=!<>&\\/'#",
    *(r"\d", r"\b", r"\p{L}", r"\x41", r"\Q", r"\k", r"\1", r"\-", r"\]", r"\["),
    *("(?:", "(?i)", "(?x)", "(?=", "(?<!", "(?>", "(?<n>", "(?P<n>", "(?#", "(?-i)", "(?L)"),
    *("{1,2}", "{3,}", "{,2}", "[^", "[a-z]", "&&", "++", "*?", "é"),
]

NOT_NULL, NULL = "expect_column_values_to_not_be_null", "expect_column_values_to_be_null"
BETWEEN = "expect_column_values_to_be_between"
IN, NOT_IN = "expect_column_values_to_be_in_set", "expect_column_values_to_not_be_in_set"
MATCH, NO_MATCH = "expect_column_values_to_match_regex", "expect_column_values_to_not_match_regex"
MATCH_LIST = "expect_column_values_to_match_regex_list"
NO_MATCH_LIST = "expect_column_values_to_not_match_regex_list"
LENGTHS = "expect_column_value_lengths_to_be_between"
LENGTH = "expect_column_value_lengths_to_equal"
GREATER = "expect_column_pair_values_a_to_be_greater_than_b"
EQUAL = "expect_column_pair_values_to_be_equal"
STRINGS = EDGES["string"]

CASES: list[tuple[str, dict[str, Any]]] = [
    *((kind, {"column": name}) for kind in (NOT_NULL, NULL) for name in ("v", "s", "at", "b")),
    (BETWEEN, {"column": "v", "min_value": 0, "max_value": 1}),
    (BETWEEN, {"column": "v", "min_value": 0, "max_value": 1, "strict_min": True}),
    (BETWEEN, {"column": "v", "min_value": 0, "max_value": 1, "strict_max": True}),
    (BETWEEN, {"column": "v", "min_value": -60.5, "max_value": 1e300, "strict_min": True}),
    (BETWEEN, {"column": "v", "min_value": 0}),
    (BETWEEN, {"column": "v", "max_value": 5e-324, "strict_max": True}),
    (BETWEEN, {"column": "v", "max_value": 1.7976931348623157e308}),
    (BETWEEN, {"column": "l", "min_value": 2**53}),
    (BETWEEN, {"column": "l", "max_value": 2**53, "strict_max": True}),
    (BETWEEN, {"column": "l", "min_value": -(2**63), "strict_min": True}),
    (BETWEEN, {"column": "l", "min_value": 2**63}),
    (BETWEEN, {"column": "l", "min_value": 0, "max_value": 60000}),
    (BETWEEN, {"column": "i", "min_value": -0.5, "max_value": 6.5}),
    (BETWEEN, {"column": "i", "max_value": 2**31 - 1, "strict_max": True}),
    (BETWEEN, {"column": "at", "min_value": "1970-01-01T00:00:00Z"}),
    (BETWEEN, {"column": "at", "max_value": "2025-03-30T03:30:00+02:00", "strict_max": True}),
    (BETWEEN, {"column": "at", "min_value": "9999-12-31 23:59:59.999999+00:00"}),
    (
        BETWEEN,
        {
            "column": "at",
            "min_value": "1969-12-31T23:59:59.999999Z",
            "max_value": "2024-02-29T12:00:00.000Z",
            "strict_min": True,
        },
    ),
    (BETWEEN, {"column": "d", "min_value": "1970-01-01", "max_value": "2024-02-29"}),
    (BETWEEN, {"column": "d", "min_value": "2024-02-29", "strict_min": True}),
    *((kind, {"column": "s", "value_set": STRINGS[::2]}) for kind in (IN, NOT_IN)),
    *((kind, {"column": "s", "value_set": ["a", "é"]}) for kind in (IN, NOT_IN)),
    *((kind, {"column": "v", "value_set": [0, 1.0, 0.1]}) for kind in (IN, NOT_IN)),
    (IN, {"column": "v", "value_set": [0, *range(20, 35), -60]}),  # more than Spark compares singly
    (IN, {"column": "l", "value_set": [0, 2**53 + 1, 2**63 - 1, -(2**63)]}),
    (NOT_IN, {"column": "l", "value_set": [*range(12), 2**53]}),
    (IN, {"column": "i", "value_set": [0, -1, 2**31 - 1]}),
    (IN, {"column": "at", "value_set": ["1970-01-01T00:00:00Z", "2024-02-29T13:00:00+01:00"]}),
    (NOT_IN, {"column": "d", "value_set": ["2024-02-29", "9999-12-31"]}),
    (IN, {"column": "b", "value_set": [True]}),
    *((kind, {"column": "s", "regex": "^a"}) for kind in (MATCH, NO_MATCH)),
    (MATCH, {"column": "s", "regex": "^[^a-z]*$"}),
    (MATCH, {"column": "s", "regex": r"(?i)a\\b|\$\{x\}|'|`"}),
    (MATCH, {"column": "s", "regex": r"^\p{L}+$"}),
    (NO_MATCH, {"column": "s", "regex": r"\s"}),
    (MATCH, {"column": "s", "regex": ".{2,3}"}),
    *(
        (MATCH_LIST, {"column": "s", "regex_list": ["^a", "b$"], "match_on": on})
        for on in ("any", "all")
    ),
    (MATCH_LIST, {"column": "s", "regex_list": [r"\d", "é"]}),
    (NO_MATCH_LIST, {"column": "s", "regex_list": ["a", "😀", r"\$"]}),
    (LENGTHS, {"column": "s", "min_value": 1, "max_value": 1}),
    (LENGTHS, {"column": "s", "min_value": 0, "strict_min": True}),
    (LENGTHS, {"column": "s", "max_value": 3, "strict_max": True}),
    (
        LENGTHS,
        {"column": "s", "min_value": 1, "max_value": 3, "strict_min": True, "strict_max": True},
    ),
    (LENGTH, {"column": "s", "value": 1}),
    (LENGTH, {"column": "s", "value": 0}),
    *(
        (kind, {"column_A": a, "column_B": b, "ignore_row_if": missing})
        for kind in (GREATER, EQUAL)
        for a, b in (("v", "w"), ("s", "t"))
        for missing in ("both_values_are_missing", "either_value_is_missing", "neither")
    ),
    *(
        (GREATER, {"column_A": a, "column_B": b, "or_equal": True})
        for a, b in (("v", "w"), ("l", "i"), ("v", "l"), ("at", "until"), ("s", "t"), ("d", "day"))
    ),
    (GREATER, {"column_A": "v", "column_B": "w", "or_equal": True, "ignore_row_if": "neither"}),
    (EQUAL, {"column_A": "l", "column_B": "v"}),
    (EQUAL, {"column_A": "b", "column_B": "c"}),
]


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Each edge value once, then chance; a third of what chance takes is null or an edge."""
    chance = random.Random(7)
    made = {
        name: [_value(kind, n, chance) for n in range(ROWS)] for name, kind in COLUMNS.items()
    } | {"n": list(range(ROWS)), "weight": [_weight(n) for n in range(ROWS)]}
    columns = {name: pa.array(made[name], _ARROW[kind]) for name, kind in COLUMNS.items()}
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table(columns), file)
    return spark.read.parquet(str(file))


def _value(kind: str, n: int, chance: random.Random) -> Any:
    edges = EDGES[kind]
    if n < len(edges) and chance.random() < 0.8:
        return edges[n]
    draw = chance.random()
    if draw < 0.4:
        return None if draw < 0.1 else chance.choice(edges)
    return _CHANCE[kind](chance)


_ARROW = {
    "double": pa.float64(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "boolean": pa.bool_(),
}
_CHANCE = {
    "double": lambda chance: chance.choice(
        [chance.uniform(-100, 100), float(chance.randint(-3, 3))]
    ),
    "bigint": lambda chance: chance.choice([chance.randint(-5, 5), 2**53 + chance.randint(-3, 3)]),
    "int": lambda chance: chance.randint(-9, 9),
    "string": lambda chance: "".join(chance.choices("abA é😀$\\'1", k=chance.randint(0, 4))),
    "timestamp": lambda chance: (
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randint(-(10**8), 2 * 10**9))
    ),
    "date": lambda chance: date(1970, 1, 1) + timedelta(days=chance.randint(-3000, 30000)),
    "boolean": lambda chance: chance.choice([True, False]),
}


@pytest.fixture(scope="module")
def suite_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("suite") / "parity.json"
    expectations = [
        {"type": kind, "kwargs": kwargs, "meta": {"case": number}}
        for number, (kind, kwargs) in enumerate(CASES)
    ]
    file.write_text(json.dumps({"name": "parity", "expectations": expectations}))
    return file


def test_every_supported_type_is_compared() -> None:
    assert {kind for kind, _ in CASES} == set(ROW_LEVEL)


def test_verdicts_equal_those_of_great_expectations(rows: DataFrame, suite_file: Path) -> None:
    """Rows stand there as often as their number in `weight`, so counts tell which ones they are.

    The rows themselves would cost three Spark jobs for each expectation; all counts cost one.
    """
    broken = _broken(rows)
    weighted = rows.withColumn("_", f.explode(f.expr("sequence(1, weight)"))).drop("_")
    counts = {"result_format": "BASIC", "partial_unexpected_count": 0}
    result = validate(weighted, read_suite(suite_file), counts)
    theirs = {one.expectation_config.meta["case"]: _unexpected(one) for one in result.results}
    ours = [sum(_weight(n) for n in found) for found in broken]
    different = [(case, sorted(broken[n])) for n, case in enumerate(CASES) if ours[n] != theirs[n]]
    assert not different


def test_no_case_is_idle(rows: DataFrame) -> None:
    """Some rows break each rule and some keep it, or the comparison says little."""
    broken = dict(zip(map(str, CASES), _broken(rows), strict=True))
    assert [case for case, found in broken.items() if not 0 < len(found) < ROWS] == []


def test_java_reads_every_regex_that_is_taken(spark: SparkSession) -> None:
    chance = random.Random(11)
    drawn = {"".join(chance.choices(REGEX_PARTS, k=chance.randint(1, 7))) for _ in range(10_000)}
    taken = [pattern for pattern in sorted(drawn) if _is_taken(pattern)]
    assert len(taken) > 300
    java = spark.sparkContext._jvm.java.util.regex.Pattern  # noqa: SLF001 - the only door
    for pattern in taken:
        java.compile(pattern)


def _is_taken(pattern: str) -> bool:
    try:
        check_regex(pattern)
    except ValueError:
        return False
    return True


def _weight(n: int) -> int:
    return random.Random(n).randint(1, 199)


def _broken(rows: DataFrame) -> list[set[int]]:
    predicates = [ROW_LEVEL[kind].model_validate(kwargs).broken(COLUMNS) for kind, kwargs in CASES]
    bits = [f.expr(predicate).alias(f"_{n}") for n, predicate in enumerate(predicates)]
    found: list[set[int]] = [set() for _ in predicates]
    for row in rows.select("n", *bits).collect():
        for number, is_broken in enumerate(row[1:]):
            assert is_broken is not None, f"{CASES[number]} is null at row {row.n}"
            if is_broken:
                found[number].add(row.n)
    return found


def _unexpected(one: Any) -> int:
    assert "unexpected_count" in one.result, (one.expectation_config, one.exception_info)
    return one.result["unexpected_count"]
