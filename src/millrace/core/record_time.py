"""The time a broker keeps of a record: within these bounds, or not to be believed.

Whoever writes to a topic with the producers' times may write any number. Each day is a folder of a
table, so an unbelievable time becomes the bound it passed: two folders at most, not thousands. The
bounds do not move with the clock: a record's day is the same whenever the record is read.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

# The same stand in jvm/src/millrace/kafka/RecordTime.java.
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
# Bronze and quarantine keep the number itself in a header of this name.
RAW_HEADER = "millrace-record-time"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def believable(milliseconds: int) -> datetime | None:
    """The time, where it lies between the bounds."""
    if not (EARLIEST - _EPOCH) // _MS < milliseconds < (LATEST - _EPOCH) // _MS:
        return None
    return _EPOCH + milliseconds * _MS
