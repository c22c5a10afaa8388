"""Which of a day's files become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta

from millrace.maintenance.core.logged_files import DataFile
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings

Bin = list[DataFile]


def is_closed(day: date, now: datetime, settings: MaintenanceSettings) -> bool:
    """Whether hardly any row of this day is still to come."""
    end = datetime.combine(day + timedelta(days=1), time(), UTC)
    return now >= end + settings.closed_after


def pack_day(
    day: date, files: Iterable[DataFile], now: datetime, settings: MaintenanceSettings
) -> list[Bin]:
    """Groups of small files, each worth becoming one file."""
    small = (file for file in files if file.size_bytes < settings.small_bytes)
    if is_closed(day, now, settings):
        growth, fewest = settings.closed_growth, 2
    else:
        growth, fewest = settings.hot_growth, settings.hot_files
        young_ms = (now - settings.hot_file_age).timestamp() * 1_000
        small = (file for file in small if file.written_ms < young_ms)
    bins = (_leave_big(group, growth) for group in _neighbours(small, settings.target_bytes))
    return [group for group in bins if len(group) >= fewest]


def _neighbours(files: Iterable[DataFile], most_bytes: int) -> Iterator[Bin]:
    """In order of time, so that a file holds one span of it and readers can skip the others."""
    group: Bin = []
    total = 0
    for file in sorted(files, key=lambda file: (file.first_ms, file.path)):
        if group and total + file.size_bytes > most_bytes:
            yield group
            group, total = [], 0
        group.append(file)
        total += file.size_bytes
    yield group


def _leave_big(group: Bin, growth: int) -> Bin:
    """Without the files that are too big for what would come to them."""
    by_size = sorted(group, key=lambda file: file.size_bytes)
    rest = sum(file.size_bytes for file in by_size)
    while by_size:
        biggest = by_size[-1].size_bytes
        rest -= biggest
        if biggest <= growth * rest:
            break
        by_size.pop()
    kept = {file.path for file in by_size}
    return [file for file in group if file.path in kept]
