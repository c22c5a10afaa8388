"""Points in time and days, as people write them on a command line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from millrace.base.errors import MillraceError

_TIMES = "2026-11-18T12:00, 2026-11-18T12:00:00.5+01:00 or 2026-11-18"


def parse_instant(option: str, text: str) -> datetime:
    """ISO-8601; UTC unless it says otherwise."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise MillraceError(f"{option}={text!r} is not a time; write such as {_TIMES}") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def parse_day(option: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise MillraceError(
            f"{option}={text!r} is not a day; write such as 2026-11-18 (days are UTC)"
        ) from error


def first_kept_day(keep: timedelta | None, now: datetime) -> date | None:
    """Rows of earlier days may be deleted already; None where rows stay for ever."""
    return (now.astimezone(UTC) - keep).date() if keep else None


def latest_of(*days: date | None) -> date | None:
    return max((day for day in days if day), default=None)
