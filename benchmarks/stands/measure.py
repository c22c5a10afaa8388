"""What a contestant used, and when its rows became readable, seen from outside alike for all."""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

_SAMPLE_S = 0.1


@dataclass
class Meter:
    """CPU seconds and memory of a process with all its children, sampled."""

    pid: int
    times: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    stolen_s: list[float] = field(default_factory=list)
    _ended: dict[int, float] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def is_over(self) -> bool:
        """The process has ended by itself."""
        try:
            return psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def cpu_between(self, begin: float, end: float) -> float:
        return self._between(self.cpu_s, begin, end)

    def stolen_between(self, begin: float, end: float) -> float:
        """The share of the machine that its host gave to others."""
        cores = len(psutil.Process().cpu_affinity())
        return self._between(self.stolen_s, begin, end) / (end - begin) / cores

    @property
    def peak_mb(self) -> float:
        return max(self.memory_mb, default=0.0)

    def _run(self) -> None:
        while not self._stopped.wait(_SAMPLE_S):
            self._sample()

    def _sample(self) -> None:
        memory = 0
        with suppress(psutil.Error):
            root = psutil.Process(self.pid)
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    used = process.cpu_times()
                    self._ended[process.pid] = used.user + used.system
                    memory += process.memory_info().rss
        self.times.append(time.time())
        # A child that ended keeps what it used.
        self.cpu_s.append(sum(self._ended.values()))
        self.memory_mb.append(memory / 1e6)
        self.stolen_s.append(getattr(psutil.cpu_times(), "steal", 0.0))

    def _between(self, values: list[float], begin: float, end: float) -> float:
        return values[self._index(end)] - values[self._index(begin)]

    def _index(self, moment: float) -> int:
        return min(bisect_left(self.times, moment), len(self.times) - 1)


@dataclass(frozen=True)
class Commit:
    at: float
    rows: int


class CommitWatch:
    """Notes when each commit of a table becomes visible, and how many rows it brought."""

    def __init__(self, table: Path) -> None:
        self._log = table / "_delta_log"
        self._next = 0
        self.commits: list[Commit] = []
        self.files: list[tuple[float, str]] = []
        # What each file says of itself, beside when it became visible.
        self.stats: list[tuple[float, dict[str, Any]]] = []

    @property
    def rows(self) -> int:
        return sum(commit.rows for commit in self.commits)

    def look(self) -> None:
        while (file := self._log / f"{self._next:020d}.json").exists():
            now = time.time()
            actions = [json.loads(line) for line in file.read_text().splitlines()]
            added = [action["add"] for action in actions if "add" in action]
            stats = [json.loads(add["stats"]) for add in added]
            rows = sum(one["numRecords"] for one in stats)
            self.stats += [(now, one) for one in stats]
            self.commits.append(Commit(now, rows))
            self.files += [(now, str(self._log.parent / add["path"])) for add in added]
            self._next += 1


@dataclass(frozen=True)
class Result:
    name: str
    rows: int
    # Without the first rows, which warm everybody up; a stream is warm most of its life.
    warm_rows_per_s: float
    cpu_s_per_million: float
    # From the start of the process to the last commit.
    wall_s: float
    peak_mb: float
    stolen: float


def summarise(
    name: str, watches: list[CommitWatch], meter: Meter, started: float, warm: int
) -> Result:
    """From when the first table has the warming rows until the last table has all of them."""
    seen, begin = 0, started
    for commit in watches[0].commits:
        seen, begin = seen + commit.rows, commit.at
        if seen >= warm:
            break
    end = max(watch.commits[-1].at for watch in watches)
    rows = watches[0].rows - seen
    return Result(
        name=name,
        rows=rows,
        warm_rows_per_s=rows / (end - begin),
        cpu_s_per_million=meter.cpu_between(begin, end) / rows * 1e6,
        wall_s=end - started,
        peak_mb=meter.peak_mb,
        stolen=meter.stolen_between(begin, end),
    )
