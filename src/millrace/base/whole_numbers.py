"""Whole numbers that others have written: read within bounds, so that none of them is an error."""

from __future__ import annotations

MOST = 2**63 - 1
_MOST_DIGITS = len(str(MOST))


def whole_number(text: str | bytes) -> int | None:
    """None where the text is no number of decimal digits, or one that is larger than `MOST`."""
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= MOST else None
