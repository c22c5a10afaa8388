"""The time a broker keeps of a record: within these bounds, or not to be believed.

Whoever writes to a topic with the producers' times may write any number. An unbelievable time
becomes the bound that it passed.

Each day is a folder of a table, with a file for each batch that has a row of it. So a record whose
time is far from the time of its reading has the first day of its month: whatever a producer writes,
a batch has rows of some 2,300 days at most, and not of 36,500. It is not the day of the reading:
`keep` believes the newest day of a table where the lake's own clock is wrong.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

# The same stand in jvm/src/millrace/kafka/RecordTime.java.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
# Bronze and quarantine keep the number itself in a header of this name.
RAW_HEADER = "millrace-record-time"
# The same stand in jvm/src/millrace/refine/Moment.java.
DAYS_BEHIND, DAYS_AHEAD = 730, 366
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_EARLIEST_MS, _LATEST_MS = (EARLIEST - _EPOCH) // _MS, (LATEST - _EPOCH) // _MS


def believable(milliseconds: int) -> datetime | None:
    """The time, where it lies between the bounds."""
    if not _EARLIEST_MS < milliseconds < _LATEST_MS:
        return None
    return _EPOCH + milliseconds * _MS


def bounded(milliseconds: int) -> int:
    """As tables keep it."""
    return min(max(milliseconds, _EARLIEST_MS), _LATEST_MS)
