"""The expectations that judge a row by itself, each as a predicate in Spark SQL.

Great Expectations ignores nulls unless the expectation is about them; so do these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictStr

from millrace.expectations.core import literals, values
from millrace.expectations.core.arguments import (
    Arguments,
    Columns,
    Count,
    OneColumn,
    Share,
    UnfitArgumentError,
    Value,
    ValueRange,
)
from millrace.expectations.core.regex import check_regex
from millrace.lake.core.columns import TYPES

Regex = Annotated[StrictStr, AfterValidator(check_regex)]


class RowLevel(Arguments):
    # Below 1 the verdict is on all rows together, so no single row can be refused for it.
    mostly: Share = 1

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.broken(columns)

    def broken(self, columns: Columns) -> str:
        """True where a row breaks it, never null."""
        raise NotImplementedError


class OneColumnRule(OneColumn, RowLevel):
    def broken(self, columns: Columns) -> str:
        return f"({self.sql} IS NOT NULL AND NOT ({self.holds(columns)}))"

    def holds(self, columns: Columns) -> str:
        """True or false for every value that is not null."""
        raise NotImplementedError


class NotNull(OneColumnRule):
    def broken(self, columns: Columns) -> str:  # noqa: ARG002 - a null has no type
        return f"({self.sql} IS NULL)"


class Null(OneColumnRule):
    def broken(self, columns: Columns) -> str:  # noqa: ARG002 - a null has no type
        return f"({self.sql} IS NOT NULL)"


class Between(OneColumnRule, ValueRange):
    min_value: Value | None = None
    max_value: Value | None = None

    def holds(self, columns: Columns) -> str:
        kind = self.kind(columns, *values.ORDERED)
        low = self._end("min_value", kind)
        high = self._end("max_value", kind)
        self.check_ends(values.order(self.min_value), values.order(self.max_value))
        return self.inside(self.sql, low, high)

    def _end(self, field: str, kind: str) -> str | None:
        value = getattr(self, field)
        return None if value is None else _convert(field, values.bound, value, kind)


class InSet(OneColumnRule):
    value_set: Annotated[list[Any], Field(min_length=1)]

    def holds(self, columns: Columns) -> str:
        kind = self.kind(columns, *TYPES)
        members = [_convert("value_set", values.member, value, kind) for value in self.value_set]
        return f"{self.sql} IN ({', '.join(members)})"


class NotInSet(InSet):
    def holds(self, columns: Columns) -> str:
        return f"NOT ({super().holds(columns)})"


class MatchRegex(OneColumnRule):
    regex: Regex

    def holds(self, columns: Columns) -> str:
        self.kind(columns, "string")
        return _matches(self.sql, self.regex)


class NotMatchRegex(MatchRegex):
    def holds(self, columns: Columns) -> str:
        return f"NOT ({super().holds(columns)})"


class MatchRegexList(OneColumnRule):
    regex_list: Annotated[list[Regex], Field(min_length=1)]
    match_on: Literal["any", "all"] = "any"

    def holds(self, columns: Columns) -> str:
        self.kind(columns, "string")
        if self.match_on == "any":
            return _matches(
                self.sql, _convert("regex_list", check_regex, "|".join(self.regex_list))
            )
        return " AND ".join(_matches(self.sql, regex) for regex in self.regex_list)


class NotMatchRegexList(OneColumnRule):
    regex_list: Annotated[list[Regex], Field(min_length=1)]

    def holds(self, columns: Columns) -> str:
        self.kind(columns, "string")
        return " AND ".join(f"NOT {_matches(self.sql, regex)}" for regex in self.regex_list)


class LengthsBetween(OneColumnRule, ValueRange):
    min_value: Count | None = None
    max_value: Count | None = None

    def holds(self, columns: Columns) -> str:
        self.kind(columns, "string")
        self.check_ends(self.min_value, self.max_value)
        low, high = (None if end is None else str(end) for end in (self.min_value, self.max_value))
        return self.inside(f"length({self.sql})", low, high)


class LengthsEqual(OneColumnRule):
    value: Count

    def holds(self, columns: Columns) -> str:
        self.kind(columns, "string")
        return f"length({self.sql}) = {self.value}"


class Pair(RowLevel):
    column_A: StrictStr
    column_B: StrictStr
    ignore_row_if: Literal["both_values_are_missing", "either_value_is_missing", "neither"] = (
        "both_values_are_missing"
    )

    def names(self, columns: Columns, *allowed: str) -> tuple[str, str]:
        kinds = [columns[self.column_A], columns[self.column_B]]
        families = {"number" if kind in values.NUMBERS else kind for kind in kinds}
        if len(families) > 1 or not set(kinds) <= set(allowed):
            raise UnfitArgumentError(
                "column_B",
                f"{self.column_A!r} is {kinds[0]} and {self.column_B!r} is {kinds[1]};"
                f" two columns of one kind can be compared: {', '.join(allowed)}",
            )
        return literals.identifier(self.column_A), literals.identifier(self.column_B)


class PairGreater(Pair):
    or_equal: StrictBool | None = None

    def broken(self, columns: Columns) -> str:
        a, b = self.names(columns, *values.ORDERED, "string")
        # A null makes it neither true nor false, whatever is to be ignored.
        return f"(NOT coalesce({a} {'>=' if self.or_equal else '>'} {b}, true))"


class PairEqual(Pair):
    def broken(self, columns: Columns) -> str:
        a, b = self.names(columns, *TYPES)
        if self.ignore_row_if == "either_value_is_missing":
            return f"(NOT coalesce({a} = {b}, true))"
        return f"(NOT ({a} <=> {b}))"


def _matches(subject: str, regex: str) -> str:
    return f"({subject} RLIKE {literals.text(regex)})"


def _convert(field: str, convert: Callable[..., str], *values: Any) -> str:
    try:
        return convert(*values)
    except ValueError as error:
        raise UnfitArgumentError(field, str(error)) from None


ROW_LEVEL: dict[str, type[RowLevel]] = {
    "expect_column_values_to_not_be_null": NotNull,
    "expect_column_values_to_be_null": Null,
    "expect_column_values_to_be_between": Between,
    "expect_column_values_to_be_in_set": InSet,
    "expect_column_values_to_not_be_in_set": NotInSet,
    "expect_column_values_to_match_regex": MatchRegex,
    "expect_column_values_to_not_match_regex": NotMatchRegex,
    "expect_column_values_to_match_regex_list": MatchRegexList,
    "expect_column_values_to_not_match_regex_list": NotMatchRegexList,
    "expect_column_value_lengths_to_be_between": LengthsBetween,
    "expect_column_value_lengths_to_equal": LengthsEqual,
    "expect_column_pair_values_a_to_be_greater_than_b": PairGreater,
    "expect_column_pair_values_to_be_equal": PairEqual,
}
