"""Suites: what is taken, what is refused and how it is said, and the SQL that comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.base.errors import BadValueError, MissingKeyError, SpecErrors, UnknownKeyError
from millrace.expectations.core import literals
from millrace.expectations.core.batch_level import BATCH_LEVEL
from millrace.expectations.core.compiled import CompiledSuite, judged_columns
from millrace.expectations.core.row_level import ROW_LEVEL
from millrace.expectations.io.suite_files import load_suite
from millrace.lake.core.columns import resolve_columns
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.refining import check_quality, load_refine
from millrace.platform.core.platform import Platform

CHECKOUT = Path(__file__).parents[3]
COLUMNS = {
    "v": "double",
    "l": "bigint",
    "i": "int",
    "s": "string",
    "at": "timestamp",
    "d": "date",
    "b": "boolean",
}
BETWEEN = "expect_column_values_to_be_between"
IN_SET = "expect_column_values_to_be_in_set"
REGEX = "expect_column_values_to_match_regex"
LENGTHS = "expect_column_value_lengths_to_be_between"
GREATER = "expect_column_pair_values_a_to_be_greater_than_b"


def entry(kind: str, severity: str = "critical", **kwargs: Any) -> dict[str, Any]:
    return {"type": kind, "kwargs": kwargs, "severity": severity}


def write(file: Path, *expectations: dict[str, Any], **others: Any) -> Path:
    suite = {"name": file.stem, "expectations": list(expectations), **others}
    file.write_text(json.dumps(suite, indent=1))
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "suite.json"


def compiled(file: Path, *expectations: dict[str, Any]) -> CompiledSuite:
    return load_suite(write(file, *expectations), COLUMNS)


BAD_ENTRIES = {
    "unknown type": (entry("expect_column_values_to_be_betwen"), BadValueError, ["be_between"]),
    "one that Spark has not": (
        entry("expect_column_values_to_match_like_pattern", column="s", like_pattern="a%"),
        BadValueError,
        ["not supported", "expect_column_values_to_match_regex", "expect_table_row_count_to_equal"],
    ),
    "unknown kwarg": (entry(BETWEEN, column="v", min=1), UnknownKeyError, ["'min'", "min_value"]),
    "missing kwarg": (entry(IN_SET, column="s"), MissingKeyError, ["'value_set'"]),
    "unknown column": (entry(BETWEEN, column="w", min_value=1), BadValueError, ["'w'", "v, l"]),
    "unknown second column": (
        entry(GREATER, column_A="v", column_B="w"),
        BadValueError,
        ["column_B", "'w'"],
    ),
    "no end": (entry(BETWEEN, column="v"), BadValueError, ["one of min_value and max_value"]),
    "ends crossed": (
        entry(BETWEEN, column="v", min_value=2, max_value=1),
        BadValueError,
        ["above"],
    ),
    "times crossed": (
        entry(
            BETWEEN,
            column="at",
            min_value="2025-01-01T00:00:00+00:00",
            max_value="2025-01-01T00:30:00+01:00",
        ),
        BadValueError,
        ["above"],
    ),
    "text for a number": (
        entry(BETWEEN, column="v", min_value="low"),
        BadValueError,
        ["min_value", "'low' is not a number"],
    ),
    "a number no double holds": (
        entry(BETWEEN, column="l", min_value=2**53 + 1),
        BadValueError,
        ["exactly"],
    ),
    "true for a number": (entry(BETWEEN, column="v", min_value=True), BadValueError, ["min_value"]),
    "a range of texts": (entry(BETWEEN, column="s", min_value=1), BadValueError, ["'s' is string"]),
    "a time without zone": (
        entry(BETWEEN, column="at", min_value="2025-01-31T08:00:00"),
        BadValueError,
        ["2025-01-31T08:00:00Z"],
    ),
    "no such day": (entry(BETWEEN, column="d", min_value="2025-02-29"), BadValueError, ["a date"]),
    "time before the calendar": (
        entry(BETWEEN, column="at", min_value="0001-01-01T00:00:00+01:00"),
        BadValueError,
        ["a time with its zone"],
    ),
    "empty set": (entry(IN_SET, column="s", value_set=[]), BadValueError, ["value_set"]),
    "null in a set": (entry(IN_SET, column="s", value_set=["a", None]), BadValueError, ["None"]),
    "set of another type": (entry(IN_SET, column="i", value_set=[1, "2"]), BadValueError, ["'2'"]),
    "true as a number": (entry(IN_SET, column="i", value_set=[True]), BadValueError, ["True"]),
    "more than 64 bits": (entry(IN_SET, column="l", value_set=[2**63]), BadValueError, ["64 bits"]),
    "broken regex": (entry(REGEX, column="s", regex="["), BadValueError, ["regular expression"]),
    "regex on numbers": (entry(REGEX, column="v", regex="1"), BadValueError, ["'v' is double"]),
    "half a length": (entry(LENGTHS, column="s", min_value=1.5), BadValueError, ["whole number"]),
    "pair of two kinds": (
        entry(GREATER, column_A="v", column_B="s"),
        BadValueError,
        ["'v' is double and 's' is string"],
    ),
    "mostly above one": (
        entry(BETWEEN, column="v", min_value=1, mostly=2),
        BadValueError,
        ["mostly"],
    ),
    "row condition": (
        entry(BETWEEN, column="v", min_value=1, row_condition="1=1", condition_parser="spark"),
        BadValueError,
        ["row_condition is not supported"],
    ),
    "a parameter to fill in": (
        entry(BETWEEN, column="v", min_value={"$PARAMETER": "low"}),
        BadValueError,
        ["min_value"],
    ),
    "unknown severity": (
        entry(BETWEEN, "bad", column="v"),
        BadValueError,
        ["'critical', 'warning'"],
    ),
    "mean of texts": (
        entry("expect_column_mean_to_be_between", column="s", min_value=1),
        BadValueError,
        ["'s' is string"],
    ),
    "a range too few": (
        entry(
            "expect_column_quantile_values_to_be_between",
            column="v",
            quantile_ranges={"quantiles": [0.5, 0.9], "value_ranges": [[0, 1]]},
        ),
        BadValueError,
        ["one range"],
    ),
}


@pytest.mark.parametrize(("bad", "kind", "words"), BAD_ENTRIES.values(), ids=BAD_ENTRIES.keys())
def test_a_bad_expectation_names_file_line_and_itself(
    file: Path, bad: dict[str, Any], kind: type, words: list[str]
) -> None:
    good = entry("expect_column_values_to_not_be_null", column="v")
    with pytest.raises(SpecErrors) as caught:
        compiled(file, good, bad)
    (error,) = caught.value.errors
    assert type(error) is kind
    lines = file.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines, 1) if f'"{bad["type"]}"' in line)
    assert error.place.file == file
    assert begin - 1 <= error.place.line <= len(lines)
    assert all(word in str(error) for word in words), str(error)
    if bad["severity"] != "bad":
        assert f"expectation 2 ({bad['type']})" in str(error)


def test_one_run_shows_every_bad_expectation(file: Path) -> None:
    with pytest.raises(SpecErrors) as caught:
        compiled(file, entry("expect_x"), entry(BETWEEN, column="v"), entry(IN_SET, column="v"))
    assert len(caught.value.errors) == 3


def test_an_error_points_at_its_line(file: Path) -> None:
    write(file, entry(BETWEEN, column="v", min_value=0), entry(REGEX, column="s", regex="["))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if '"regex"' in text)
    with pytest.raises(SpecErrors) as caught:
        load_suite(file, COLUMNS)
    assert [error.place.line for error in caught.value.errors] == [line]


BAD_FILES = {
    "not JSON": ('{"name": "suite",\n "expectations": [}', 2, "not JSON"),
    "no object": ("[]", 1, "holds no object"),
    "NaN": (
        '{"name": "suite", "expectations": [{"type": "x", "kwargs": {"a": NaN}}]}',
        None,
        "NaN",
    ),
    "half a surrogate": ('{"name": "\\ud800", "expectations": []}', None, "surrogate"),
    "another name": (
        '{"name": "other", "expectations": [{"type": "x", "kwargs": {}}]}',
        1,
        "other",
    ),
    "nothing in it": ('{"name": "suite", "expectations": []}', 1, "expectations=[]"),
    "key twice": ('{"name": "suite",\n"name": "suite", "expectations": []}', 2, "twice"),
    "parameters": (
        '{"name": "suite", "suite_parameters": {"a": 1},'
        ' "expectations": [{"type": "x", "kwargs": {}}]}',
        1,
        "suite_parameters",
    ),
}


@pytest.mark.parametrize(("text", "line", "word"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_names_its_line(file: Path, text: str, line: int | None, word: str) -> None:
    file.write_text(text)
    with pytest.raises(SpecErrors) as caught:
        load_suite(file, COLUMNS)
    (error,) = caught.value.errors
    assert error.place.line == line
    assert word in str(error)


def test_a_file_with_tabs_keeps_its_lines(file: Path) -> None:
    text = json.dumps({"name": "suite", "expectations": [entry("expect_x")]}, indent="\t")
    file.write_text(text)
    with pytest.raises(SpecErrors) as caught:
        load_suite(file, COLUMNS)
    assert caught.value.errors[0].place.line == 5


PREDICATES = [
    (entry(BETWEEN, column="v", min_value=-60), "(`v` IS NOT NULL AND NOT (`v` >= -60.0D))"),
    (
        entry(BETWEEN, column="l", max_value=10**18, strict_max=True),
        "(`l` IS NOT NULL AND NOT (`l` < 1E+18D))",
    ),
    (
        entry(BETWEEN, column="at", min_value="2025-01-31T09:00:00+01:00"),
        "(`at` IS NOT NULL AND NOT (`at` >= TIMESTAMP '2025-01-31T08:00:00.000000+00:00'))",
    ),
    (
        entry(IN_SET, column="s", value_set=["a", "'"]),
        "(`s` IS NOT NULL AND NOT (`s` IN ('a', '\\'')))",
    ),
    (
        entry(GREATER, column_A="v", column_B="l", or_equal=True),
        "(NOT coalesce(`v` >= `l`, true))",
    ),
]


@pytest.mark.parametrize(("one", "sql"), PREDICATES, ids=[sql for _, sql in PREDICATES])
def test_an_expectation_becomes_a_predicate(file: Path, one: dict[str, Any], sql: str) -> None:
    (rule,) = compiled(file, one).rules
    assert rule.broken == sql


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        ("'; DROP TABLE x; --", r"'\'; DROP TABLE x; --'"),
        ("\\'", r"'\\\''"),
        ("${env:HOME}", r"'\u0024{env:HOME}'"),
        ("a\nb\0", r"'a\nb\u0000'"),
        ("é😀", "'é😀'"),
    ],
)
def test_a_value_stays_a_value(value: str, sql: str) -> None:
    assert literals.text(value) == sql


def test_a_name_stays_a_name() -> None:
    assert literals.identifier("a`b") == "`a``b`"


def test_a_critical_rule_that_tolerates_some_rows_refuses_none(file: Path) -> None:
    rules = compiled(
        file,
        entry(BETWEEN, column="v", min_value=0, mostly=0.9),
        entry(BETWEEN, "info", column="l", min_value=0, mostly=0.9),
        entry(BETWEEN, column="i", min_value=0, mostly=1.0),
    ).rules
    assert [rule.severity for rule in rules] == ["warning", "info", "critical"]


def test_ids_are_unique_and_speak(file: Path) -> None:
    twice = [entry(BETWEEN, column="v", min_value=0), entry(BETWEEN, column="v", max_value=9)]
    rules = compiled(file, *twice, entry(GREATER, column_A="v", column_B="l")).rules
    assert [rule.id for rule in rules] == [
        "v.be_between",
        "v.be_between-2",
        "v-l.pair_values_a_to_be_greater_than_b",
    ]


def test_expectations_on_batches_make_no_rules(file: Path) -> None:
    suite = compiled(
        file,
        entry(BETWEEN, column="v", min_value=0),
        entry("expect_table_row_count_to_be_between", min_value=1),
        entry("expect_column_mean_to_be_between", column="v", max_value=100),
    )
    assert suite.summary == "1 rule (1 critical), 2 on batches"


def test_no_more_rules_than_bits(file: Path) -> None:
    one = entry(BETWEEN, column="v", min_value=0)
    assert len(compiled(file, *[one] * 63).rules) == 63
    with pytest.raises(SpecErrors, match="64 expectations on rows are more than 63"):
        compiled(file, *[one] * 64)


TEMPERATURE = {
    "sensor_id": {"type": "string", "from": "$.sensor_id", "required": True},
    "measured_at": {"type": "timestamp", "from": "$.timestamp", "required": True},
    "value": {"type": "double", "from": "$.temperature", "required": True},
    "unit": {"type": "string", "from": "$.unit"},
}


def pipeline(**others: Any) -> PipelineSpec:
    keys = {"name": "temperature", "sites": "all", "topics": ["t"], "format": "json", "table": "t"}
    return PipelineSpec.model_validate({**keys, "columns": TEMPERATURE, **others})


def test_the_example_suite_fits_its_pipeline() -> None:
    refine = load_refine(
        Platform(CHECKOUT), pipeline(quality="expectations/silver_temperature.json")
    )
    assert refine is not None
    assert len(refine.rules) == 9
    assert {rule.severity for rule in refine.rules} == {"critical", "warning", "info"}


def test_a_suite_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    layout = Platform(tmp_path)
    layout.expectations.mkdir()
    write(layout.expectations / "other.json", entry(BETWEEN, column="value", min_value=0))
    missing, bad = pipeline(quality="expectations/x.json"), pipeline(quality="expectations/y.json")
    (layout.expectations / "y.json").write_text("{}")
    with pytest.raises(
        SpecErrors, match=r"temperature\.yaml: quality='expectations/x\.json'"
    ) as it:
        check_quality(layout, [missing, bad])
    assert "expectations/other.json" in str(it.value)
    assert len(it.value.errors) == 3


def test_rules_speak_of_silver_but_not_of_its_variant() -> None:
    columns = judged_columns(resolve_columns(pipeline().columns))
    assert "payload" not in columns
    assert {"site", "event_time", "latency_ms", "value", "day"} <= set(columns)


def test_every_type_is_known_once() -> None:
    assert not set(ROW_LEVEL) & set(BATCH_LEVEL)
