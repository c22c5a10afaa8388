"""A span of a site's records, by their offsets."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.core.lag import Offsets, batch_rows


@dataclass(frozen=True)
class Span:
    """From `begin` up to, without, `end`; where a partition has no beginning, from its first."""

    site: str
    begin: Offsets
    end: Offsets

    def rows(self) -> int | None:
        """How many offsets; None where a partition has no known beginning."""
        return batch_rows(self.begin, self.end)


def where_in(span: Span) -> str:
    """The span as a condition on a table's columns, in Spark SQL."""
    parts = [
        f"(topic = {quoted(topic)} AND partition = {number}"
        f" AND offset >= {span.begin.get((topic, number), 0)} AND offset < {end})"
        for (topic, number), end in sorted(span.end.items())
    ]
    return f"site = {quoted(span.site)} AND ({' OR '.join(parts) or 'false'})"


def quoted(text: str) -> str:
    """A literal; names hold neither quotes nor backslashes, and yet."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
