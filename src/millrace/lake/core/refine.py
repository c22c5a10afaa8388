"""What refining needs to know: how messages are decoded, typed and judged."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millrace.base.model import Frozen
from millrace.lake.core.columns import Column

Severity = Literal["critical", "warning", "info"]


class Rule(Frozen):
    """A row-level expectation as a predicate over the columns of silver.

    `broken` is Spark SQL: true where a row breaks the rule, never null. Critical rules refuse the
    row; the others are only counted.
    """

    id: str
    severity: Severity
    broken: str


class RefineSpec(Frozen):
    format: Literal["avro", "json"]
    columns: tuple[Column, ...]
    # The column that says when it happened; none: the broker's time.
    event_time: str | None = None
    # Avro's schemas as JSON text, by the id in front of each message.
    schemas: dict[int, str] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
