"""What every expectation's kwargs share, and how they are checked against the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictStr

from millrace.base.model import Frozen
from millrace.expectations.core.literals import identifier

# Name and type of every column a rule may speak of.
Columns = Mapping[str, str]


class UnfitArgumentError(ValueError):
    """An argument that the table's columns do not bear out."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def _refuse_other_than_number(value: Any) -> Any:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError("write a number")
    return value


def _refuse_other_than_count(value: Any) -> Any:
    if value is not None and (type(value) is not int or not 0 <= value < 2**31):
        raise ValueError("write a whole number from 0 on")
    return value


def _refuse_other_than_value(value: Any) -> Any:
    if isinstance(value, bool | dict | list):
        raise ValueError("write a number, or a time or date as text")  # noqa: TRY004 - pydantic's
    return value


Number = Annotated[int | float, BeforeValidator(_refuse_other_than_number)]
Count = Annotated[int, BeforeValidator(_refuse_other_than_count)]
Value = Annotated[int | float | str, BeforeValidator(_refuse_other_than_value)]
Share = Annotated[Number, Field(ge=0, le=1)]


class Arguments(Frozen):
    def named_columns(self) -> Iterator[tuple[str, str]]:
        """Each argument that names columns, with each of the names."""
        for field in ("column", "column_A", "column_B", "column_list"):
            named = getattr(self, field, ())
            for name in [named] if isinstance(named, str) else named:
                yield field, name

    def check(self, columns: Columns) -> None:
        """Raises UnfitError."""
        for field, name in self.named_columns():
            if name not in columns:
                raise UnfitArgumentError(
                    field, f"there is no column {name!r}; there are {', '.join(columns)}"
                )

    @property
    def subject(self) -> str:
        """What the expectation is about, for its id."""
        return "-".join(name for _, name in self.named_columns()) or "table"


class OneColumn(Arguments):
    column: StrictStr

    @property
    def sql(self) -> str:
        return identifier(self.column)

    def kind(self, columns: Columns, *allowed: str) -> str:
        kind = columns[self.column]
        if kind not in allowed:
            raise UnfitArgumentError(
                "column", f"{self.column!r} is {kind}; this works on {', '.join(allowed)}"
            )
        return kind


class ValueRange(Frozen):
    """A range, with an end or both."""

    strict_min: StrictBool = False
    strict_max: StrictBool = False

    def check_ends(self, low: Any, high: Any) -> None:
        if low is None and high is None:
            raise UnfitArgumentError("min_value", "one of min_value and max_value is needed")
        if low is not None and high is not None and low > high:
            raise UnfitArgumentError("min_value", "no value is above min_value and below max_value")

    def inside(self, subject: str, low: str | None, high: str | None) -> str:
        ends = []
        if low is not None:
            ends.append(f"{subject} {'>' if self.strict_min else '>='} {low}")
        if high is not None:
            ends.append(f"{subject} {'<' if self.strict_max else '<='} {high}")
        return " AND ".join(ends)
