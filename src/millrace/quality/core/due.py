"""When a table is to be judged again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta


def newest_version(log_names: Iterable[str]) -> int | None:
    """Of the files in a table's log; None where there is no table."""
    names = (name.partition(".") for name in log_names)
    versions = [int(number) for number, _, rest in names if rest == "json" and number.isdigit()]
    return max(versions, default=None)


def is_due(
    newest: int | None, checked: int | None, last: datetime, now: datetime, every: timedelta
) -> bool:
    """`checked`: up to which version it was judged; `last`: when that was, or was last tried."""
    has_news = newest is not None and (checked is None or newest > checked)
    return has_news and now - last >= every
