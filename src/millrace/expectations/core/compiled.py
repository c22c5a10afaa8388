"""A suite against a table's columns: its rules, or what does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.base.model import Frozen
from millrace.base.suggest import did_you_mean
from millrace.expectations.core.arguments import Arguments, Columns
from millrace.expectations.core.batch_level import BATCH_LEVEL
from millrace.expectations.core.row_level import ROW_LEVEL, RowLevel
from millrace.expectations.core.suite import Expectation
from millrace.lake.core.columns import MOST, Column
from millrace.lake.core.refine import Rule
from millrace.lake.core.silver import silver_schema


class CompiledSuite(Frozen):
    """What of a suite is judged where."""

    rules: tuple[Rule, ...]
    batch_level: int

    @property
    def summary(self) -> str:
        critical = sum(rule.severity == "critical" for rule in self.rules)
        plural = "" if len(self.rules) == 1 else "s"
        rows = f"{len(self.rules)} rule{plural} ({critical} critical)"
        return f"{rows}, {self.batch_level} on batches" if self.batch_level else rows


def judged_columns(columns: Sequence[Column]) -> Columns:
    """The columns of silver that an expectation may name: a variant cannot be compared."""
    return {name: kind for name, kind in silver_schema(columns) if kind != "variant"}


def arguments_of(expectation: Expectation) -> type[Arguments]:
    """The model of its kwargs; raises ValueError for a type that is not supported."""
    known: dict[str, type[Arguments]] = {**ROW_LEVEL, **BATCH_LEVEL}
    model = known.get(expectation.type)
    if model is None:
        guess = did_you_mean(expectation.type, known)
        raise ValueError(
            f"this type is not supported; {guess}supported for each row are"
            f" {', '.join(ROW_LEVEL)}; for a batch, {', '.join(BATCH_LEVEL)}"
        )
    return model


def compile_suite(
    expectations: Sequence[tuple[Expectation, Arguments]], columns: Columns
) -> CompiledSuite:
    """All arguments have been checked against the columns."""
    rules: list[Rule] = []
    for expectation, arguments in expectations:
        if isinstance(arguments, RowLevel):
            taken = {rule.id for rule in rules}
            rules.append(_rule(expectation, arguments, columns, taken))
    if len(rules) > MOST:
        raise ValueError(f"{len(rules)} expectations on rows are more than {MOST}, a bit for each")
    return CompiledSuite(rules=tuple(rules), batch_level=len(expectations) - len(rules))


def _rule(expectation: Expectation, arguments: RowLevel, columns: Columns, taken: set[str]) -> Rule:
    counted_only = arguments.mostly < 1 and expectation.severity == "critical"
    return Rule(
        id=_free(f"{arguments.subject}.{expectation.short_type}", taken),
        severity="warning" if counted_only else expectation.severity,
        broken=arguments.broken(columns),
    )


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in (name, *numbered) if candidate not in taken)
