"""What Great Expectations found, cut down to what a person needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millrace.base.model import Frozen
from millrace.lake.core.refine import Severity

# The worst first.
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")
_SHOWN_LETTERS = 200
_UNSAID = ("column", "column_A", "column_B", "column_list", "mostly", "batch_id")


class FailingRow(Frozen):
    """A row that breaks it: its coordinates and the values that do."""

    at: dict[str, str]
    values: dict[str, str]


class ExpectationOutcome(Frozen):
    """One expectation on one batch."""

    type: str
    subject: str
    arguments: dict[str, str]
    severity: Severity
    passed: bool
    description: str = ""
    rows: int | None = None
    unexpected: int | None = None
    unexpected_percent: float | None = None
    # What was measured, for expectations on many rows together.
    observed: str | None = None
    samples: tuple[FailingRow, ...] = ()
    # Why it could not be judged at all; then it has not passed.
    error: str | None = None

    def is_failure_at(self, level: Severity) -> bool:
        bad_enough = SEVERITIES.index(self.severity) <= SEVERITIES.index(level)
        return not self.passed and bad_enough


def worst_of(outcomes: Iterable[ExpectationOutcome]) -> Severity | None:
    failed = {one.severity for one in outcomes if not one.passed}
    return next((severity for severity in SEVERITIES if severity in failed), None)


def outcome_of(
    config: Mapping[str, Any],
    success: bool | None,
    result: Mapping[str, Any],
    exceptions: Mapping[str, Any],
    coordinates: Sequence[str],
) -> ExpectationOutcome:
    """From the parts of one result as Great Expectations makes it."""
    kwargs = config["kwargs"]
    return ExpectationOutcome(
        type=config["type"],
        subject=_subject(kwargs),
        arguments={key: _shown(kwargs[key]) for key in kwargs if key not in _UNSAID},
        severity=config["severity"],
        passed=bool(success),
        description=config.get("description") or "",
        rows=result.get("element_count"),
        unexpected=result.get("unexpected_count"),
        unexpected_percent=result.get("unexpected_percent"),
        observed=_shown(result["observed_value"]) if "observed_value" in result else None,
        samples=_samples(result, coordinates),
        error=_error(exceptions),
    )


def _subject(kwargs: Mapping[str, Any]) -> str:
    pair = [kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs]
    return ", ".join([*pair, *kwargs.get("column_list", ())]) or "table"


def _samples(result: Mapping[str, Any], coordinates: Sequence[str]) -> tuple[FailingRow, ...]:
    rows = result.get("partial_unexpected_index_list") or ()
    return tuple(
        FailingRow(
            at={key: _shown(value) for key, value in row.items() if key in coordinates},
            values={key: _shown(value) for key, value in row.items() if key not in coordinates},
        )
        for row in rows
    )


def _error(info: Mapping[str, Any]) -> str | None:
    """Either one exception, or one for each metric that failed."""
    each = [info] if "raised_exception" in info else list(info.values())
    messages = [one["exception_message"] for one in each if one.get("raised_exception")]
    return _shown(messages[0]) if messages else None


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_LETTERS else text[: _SHOWN_LETTERS - 3] + "..."
