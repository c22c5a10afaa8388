"""A suite of expectations as Great Expectations writes it: `expectations/<name>.json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from millrace.base.model import Frozen
from millrace.lake.core.refine import Severity

# The kwargs by which Great Expectations judges only some rows.
_ROW_CONDITION = ("row_condition", "condition_parser")


class Expectation(Frozen):
    """One entry; what may stand in `kwargs` depends on the type."""

    type: str
    kwargs: dict[str, Any]
    severity: Severity = "critical"
    meta: dict[str, Any] | None = None
    description: str | None = None
    notes: str | list[str] | None = None
    id: UUID | None = None

    @property
    def short_type(self) -> str:
        """Such as `be_between`."""
        return self.type.removeprefix("expect_").removeprefix("column_").removeprefix("values_to_")

    @property
    def row_condition(self) -> str | None:
        """The first of the kwargs, if any, by which only some rows would be judged."""
        return next((key for key in _ROW_CONDITION if self.kwargs.get(key) is not None), None)


class Suite(Frozen):
    name: str
    expectations: Annotated[list[Expectation], Field(min_length=1)]
    meta: dict[str, Any] | None = None
    notes: str | list[str] | None = None
    id: UUID | None = None
    # Great Expectations would fill these in at run time; a compiled rule cannot.
    suite_parameters: Annotated[dict[str, Any], Field(max_length=0)] | Literal[None] = None
