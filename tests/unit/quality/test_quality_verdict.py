"""What a check looks at, what it makes of it, what it remembers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.lake.core.refine import Severity
from millrace.quality.core.commit_span import CommitSpan, LogHistory, VersionError, plan_span
from millrace.quality.core.quality_page import render
from millrace.quality.core.quality_task import Checked, QualityResult, QualitySpec
from millrace.quality.core.verdict import ExpectationOutcome, FailingRow, outcome_of, worst_of
from millrace.quality.io.quality_progress import read_checked, remember
from millrace.settings.core.engine import EngineSpec, Tables

HISTORY = LogHistory(table_id="one", earliest=10, latest=20)


def task(**others: Any) -> QualitySpec:
    return QualitySpec(
        pipeline="temperature",
        engine=EngineSpec(memory="1g", class_path=()),
        tables=Tables(bronze="b", silver="s", quarantine="q"),
        folder=Path("task"),
        suite=Path("suite.json"),
        columns=("value",),
        **others,
    )


def checked(version: int, table_id: str = "one") -> Checked:
    return Checked(table_id=table_id, version=version)


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({}, None, 20),
        ({"checked": checked(15)}, 16, 20),
        ({"checked": checked(20)}, 21, 20),
        ({"checked": checked(9)}, 10, 20),
        ({"checked": checked(8)}, None, 20),
        ({"checked": checked(15, "another")}, None, 20),
        ({"checked": checked(15), "to_version": 18}, 16, 18),
        ({"checked": checked(15), "from_version": 12}, 12, 20),
        ({"from_version": 12, "to_version": 12}, 12, 12),
    ],
)
def test_a_check_goes_on_where_the_last_one_ended(
    asked: dict[str, Any], first: int | None, last: int
) -> None:
    span = plan_span(task(**asked), HISTORY)
    assert (span.first, span.last) == (first, last)
    assert bool(span.note) == (first is None)


def test_a_span_past_its_end_is_empty() -> None:
    assert CommitSpan(first=21, last=20).is_empty
    assert not CommitSpan(first=20, last=20).is_empty
    assert not CommitSpan(first=None, last=0).is_empty


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"from_version": 9}, "--from-version 9: the log begins with version 10"),
        ({"from_version": 21}, "--from-version 21 comes after the last version, 20"),
        ({"to_version": 21}, "--to-version 21: the table's log holds versions 10 to 20"),
        ({"from_version": 15, "to_version": 12}, "--from-version 15 comes after"),
    ],
)
def test_versions_that_are_not_there_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(VersionError, match=words):
        plan_span(task(**asked), HISTORY)


def outcome(severity: Severity, *, passed: bool, **others: Any) -> ExpectationOutcome:
    kind = "expect_column_values_to_be_between"
    facts = {"type": kind, "subject": "value", "arguments": {}, "severity": severity}
    return ExpectationOutcome.model_validate({**facts, "passed": passed, **others})


def result(*outcomes: ExpectationOutcome, fail_on: Severity = "critical") -> QualityResult:
    return QualityResult(
        pipeline="temperature",
        suite="suite",
        table="s",
        table_id="one",
        from_version=16,
        to_version=20,
        rows=5,
        outcomes=outcomes,
        fail_on=fail_on,
        checked_at=datetime(2025, 1, 31, tzinfo=UTC),
        page=Path("page.html"),
    )


@pytest.mark.parametrize(
    ("failed", "fail_on", "passed"),
    [
        ([], "info", True),
        (["warning"], "critical", True),
        (["warning"], "warning", False),
        (["info", "warning"], "critical", True),
        (["info", "critical"], "critical", False),
        (["info"], "warning", True),
        (["info"], "info", False),
    ],
)
def test_a_check_fails_from_the_severity_on_that_is_asked_for(
    failed: list[Severity], fail_on: Severity, passed: bool
) -> None:
    good = outcome("critical", passed=True)
    bad = [outcome(severity, passed=False) for severity in failed]
    assert result(good, *bad, fail_on=fail_on).passed is passed


def test_the_worst_of_what_failed_counts() -> None:
    fine, bad = outcome("critical", passed=True), outcome("info", passed=False)
    assert worst_of([fine, bad, outcome("warning", passed=False)]) == "warning"
    assert worst_of([fine]) is None


CONFIG = {
    "type": "expect_column_values_to_be_between",
    "kwargs": {"column": "value", "min_value": 0.0, "batch_id": "lake-rows"},
    "severity": "critical",
}


def test_an_outcome_keeps_counts_and_rows() -> None:
    found = {
        "element_count": 9,
        "unexpected_count": 2,
        "unexpected_percent": 22.2,
        "partial_unexpected_index_list": [{"offset": 7, "value": float("nan")}],
    }
    one = outcome_of(CONFIG, False, found, {}, ("offset",))
    assert (one.subject, one.arguments) == ("value", {"min_value": "0.0"})
    assert (one.rows, one.unexpected, one.passed) == (9, 2, False)
    assert one.samples == (FailingRow(at={"offset": "7"}, values={"value": "nan"}),)


@pytest.mark.parametrize(
    "info",
    [
        {"raised_exception": True, "exception_message": "no such column"},
        {"metric": {"raised_exception": True, "exception_message": "no such column"}},
    ],
)
def test_what_could_not_be_judged_has_not_passed(info: dict[str, Any]) -> None:
    one = outcome_of(CONFIG, False, {}, info, ())
    assert (one.passed, one.error) == (False, "no such column")
    assert "could not be judged" in render(result(one))


def test_nothing_raised_is_no_error() -> None:
    info = {"raised_exception": False, "exception_message": None, "exception_traceback": None}
    assert outcome_of(CONFIG, True, {}, info, ()).error is None


def test_a_page_shows_values_as_text_and_loads_nothing() -> None:
    evil = "<img src=http://x onerror=alert(1)>"
    sample = FailingRow(at={"site": evil}, values={"value": evil})
    others = {"samples": [sample], "description": evil, "subject": evil, "arguments": {"a": evil}}
    page = render(result(outcome("info", passed=False, unexpected=1, rows=5, **others)))
    assert "<img" not in page
    assert page.count("&lt;img") == 5
    assert "default-src 'none'" in page
    assert "<script" not in page


def test_long_values_are_cut() -> None:
    found = {"observed_value": "x" * 10_000}
    assert len(outcome_of(CONFIG, True, found, {}, ()).observed or "") == 200


def test_the_last_check_is_remembered_and_a_look_back_takes_nothing_back(tmp_path: Path) -> None:
    assert read_checked(tmp_path) is None
    for name, version in (("a", 20), ("b", 12)):
        (tmp_path / name).mkdir()
        remember(tmp_path, checked(version), tmp_path / name)
        assert (tmp_path / "latest").resolve() == tmp_path / name
        assert read_checked(tmp_path) == checked(20)
    remember(tmp_path, checked(3, "another"), tmp_path / "a")
    assert read_checked(tmp_path) == checked(3, "another")
