"""The same messages through our job and through what people use instead, one after the other."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.stands.arena import CHECKOUT, PARTITIONS, Arena
from benchmarks.stands.measure import CommitWatch, Meter, Result, summarise
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.jobs.io.mailbox import Mailbox
from millrace.kafka.core.kafka_client import java_settings
from millrace.lake.io.tables import ensure_bronze
from millrace.pipelines.core.spec import Resources
from millrace.pipelines.io.refining import load_refine
from millrace.settings.core.engine import Tables

CONTROL = CHECKOUT / ".venv-bench" / "bin" / "python"
LAKE = CHECKOUT / ".venv-lake" / "bin" / "python"
_WITHIN_S = 600
_ENDS_WITHIN_S = 60


@dataclass(frozen=True)
class Throughput:
    arena: Arena
    rows: int
    # The first of them, which do not count.
    warm: int

    def ours(self, name: str, *, silver: bool, module: str = "spark_jobs.ingest.ingest") -> Result:
        pipeline = self.arena.pipeline(name, silver=silver)
        refine = load_refine(self.arena.layout, pipeline) if silver else None
        job = plan_ingest(pipeline, [self.arena.site], self.arena.layout, refine)
        job = job.model_copy(update={"generation": 1})
        ensure_bronze(Path(job.tables.bronze))
        Mailbox(job.mailbox).write_job(job)
        command = [str(LAKE), "-m", module, Mailbox(job.mailbox).job_file]
        return self._race(name, [command], job.tables, silver=silver)

    def delta_rs(self, name: str, processes: int, *, silver: bool) -> Result:
        tables = self._tables(name)
        ensure_bronze(Path(tables.bronze))
        shares = [list(range(PARTITIONS))[n::processes] for n in range(processes)]
        commands = [
            [
                str(CONTROL),
                "-m",
                "benchmarks.contestants.delta_rs",
                self._write(f"{name}-{n}", race),
            ]
            for n, race in enumerate(self._peer(tables, share, silver) for share in shares)
        ]
        return self._race(name, commands, tables, silver=silver)

    def spark_docs(self, name: str, *, silver: bool) -> Result:
        tables = self._tables(name)
        secret = self.arena.layout.user_secret(self.arena.site.name, "app")
        settings = java_settings(self.arena.site, self.arena.layout.ca, secret)
        race = {
            "kafka": {
                **{f"kafka.{key}": value for key, value in settings.items()},
                "subscribe": "readings",
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(Resources().rows_per_batch),
            },
            "class_path": ":".join(f"{CHECKOUT}/.jars/{name}/*" for name in ("spark", "jvm")),
            "checkpoint": str(self.arena.layout.var / "checkpoints" / name),
            "bronze": tables.bronze,
            "silver": tables.silver if silver else "",
        }
        command = [str(LAKE), "-m", "benchmarks.contestants.spark_docs", self._write(name, race)]
        return self._race(name, [command], tables, silver=silver)

    def limits(self) -> dict[str, float]:
        race = {
            "client": self.arena.client("app"),
            "partitions": list(range(PARTITIONS)),
            "rows": self.rows,
            "file": str(self.arena.layout.var / "limit.parquet"),
        }
        command = [str(CONTROL), "-m", "benchmarks.contestants.limits", self._write("limits", race)]
        done = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE)
        found: dict[str, float] = json.loads(done.stdout)
        return found

    def _peer(self, tables: Tables, partitions: list[int], silver: bool) -> dict[str, Any]:
        return {
            "client": self.arena.client("app"),
            "partitions": partitions,
            "rows": self.rows // PARTITIONS * len(partitions),
            "bronze": tables.bronze,
            "silver": tables.silver if silver else "",
        }

    def _tables(self, name: str) -> Tables:
        return self.arena.layout.tables(name.replace("-", "_"))

    def _write(self, name: str, race: dict[str, Any]) -> str:
        file = self.arena.layout.var / f"{name}.json"
        file.touch(0o600)
        file.write_text(json.dumps(race))
        return str(file)

    def _race(
        self, name: str, commands: Sequence[list[str]], tables: Tables, *, silver: bool
    ) -> Result:
        watches = [CommitWatch(Path(tables.bronze))]
        watches += [CommitWatch(Path(tables.silver))] if silver else []
        log = self.arena.layout.var / f"{name}.log"
        with running(commands, log) as (started, meter):

            def is_done() -> bool:
                had_ended = meter.is_over()
                done = self._is_done(watches, tables)
                if had_ended and not done:
                    raise RuntimeError(f"{name} ended early:\n{log.read_text()[-2000:]}")
                return done

            until(is_done, f"{name} brought not all rows")
        return summarise(name, watches, meter, started, self.warm)

    def _is_done(self, watches: Sequence[CommitWatch], tables: Tables) -> bool:
        for watch in watches:
            watch.look()
        bronze, *others = watches
        # What is not in silver is in quarantine, whose commit is the last of a batch.
        refused = CommitWatch(Path(tables.quarantine))
        refused.look()
        return bronze.rows >= self.rows and all(
            one.rows + refused.rows >= self.rows for one in others
        )


@contextmanager
def running(commands: Sequence[list[str]], log: Path) -> Iterator[tuple[float, Meter]]:
    """All of them below one shell, so that one meter sees them."""
    started = time.time()
    with log.open("ab") as file:
        script = " & ".join(shlex.join(command) for command in commands)
        shell = subprocess.Popen(
            ["/bin/sh", "-c", f"{script} & wait"],
            cwd=CHECKOUT,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": f"{CHECKOUT}:{CHECKOUT}/src"},
            start_new_session=True,
        )
    meter = Meter(shell.pid)
    meter.start()
    try:
        yield started, meter
    finally:
        meter.stop()
        _end(shell)


def _end(shell: subprocess.Popen[bytes]) -> None:
    """All of them: a driver that still writes would be in the next one's way."""
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(shell.pid).children(recursive=True)
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
        _, late = psutil.wait_procs(family, _ENDS_WITHIN_S)
        for process in late:
            process.kill()
    shell.wait(_ENDS_WITHIN_S)


def until(is_so: Callable[[], bool], problem: str, poll_s: float = 0.02) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{problem} within {_WITHIN_S} s")
        time.sleep(poll_s)
