"""The last lines of a log, however large it is."""

from __future__ import annotations

import os
from pathlib import Path

_TAIL_BYTES = 65_536


def last_lines(log: Path, count: int) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-count:]
