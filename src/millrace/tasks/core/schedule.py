"""When a pipeline's regular tasks run: each pipeline at its own minute.

Hundreds of pipelines at one minute would queue for workers, and starve each other.
"""

from __future__ import annotations

import zlib

_NIGHT_STARTS, _NIGHT_HOURS = 1, 4


def hourly(pipeline: str) -> str:
    """A cron expression."""
    return f"{_share(pipeline, 60)} * * * *"


def nightly(pipeline: str) -> str:
    """A cron expression; UTC."""
    hour, minute = divmod(_share(pipeline, _NIGHT_HOURS * 60), 60)
    return f"{minute} {_NIGHT_STARTS + hour} * * *"


def _share(name: str, parts: int) -> int:
    return zlib.crc32(name.encode()) % parts
