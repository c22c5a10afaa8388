"""The ingest job as a process of a test: started, watched through its heartbeat, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from deltalake import DeltaTable

from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io.mailbox import Mailbox
from millrace.lake.io.tables import open_table
from millrace.storage.io.objects import Objects, objects_at

CHECKOUT = Path(__file__).parents[4]
# A machine that does much else takes its time to start a JVM.
START_TIMEOUT_S = 240


@dataclass
class IngestDriver:
    job: IngestSpec
    process: subprocess.Popen[bytes] | None = None

    @property
    def mailbox(self) -> Mailbox:
        return Mailbox(self.job.mailbox)

    @property
    def table(self) -> Path:
        return Path(self.job.tables.bronze)

    @property
    def delta(self) -> DeltaTable:
        """Bronze as it is now, wherever it is."""
        return open_table(self.job.tables.bronze, self.job.engine.bucket)

    @property
    def log_file(self) -> Path:
        return Path(self.job.mailbox) / "driver.log"

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.job.inputs[0].checkpoint, self.job.engine.bucket)

    @property
    def jvm(self) -> psutil.Process:
        assert self.process
        return psutil.Process(self.process.pid).children()[0]

    def start(self) -> None:
        self.job = self.job.model_copy(update={"generation": self.job.generation + 1})
        self.mailbox.write_job(self.job)
        python = CHECKOUT / ".venv-lake" / "bin" / "python"
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [python, "-m", "spark_jobs.ingest.ingest", self.mailbox.job_file],
                cwd=CHECKOUT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def beat(self) -> IngestBeat | None:
        """Of this generation; None before its first."""
        beat = self.mailbox.read_heartbeat(IngestBeat)
        return beat if beat and beat.generation == self.job.generation else None

    def site_beat(self, site: str) -> SiteBeat | None:
        beat = self.beat()
        return next((s for s in beat.sites if s.site == site), None) if beat else None

    def is_running(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"ended:\n{self.log_file.read_text()[-4000:]}"
        beat = self.beat()
        return beat is not None and beat.phase is Phase.RUNNING

    def signal_jvm(self, number: signal.Signals) -> None:
        self.jvm.send_signal(number)

    def kill_all(self) -> None:
        assert self.process
        family = [psutil.Process(self.process.pid), self.jvm]
        for member in family:
            member.kill()
        self.wait()
        psutil.wait_procs(family, timeout=10)

    def wait(self, timeout_s: float = 60) -> int:
        assert self.process
        return self.process.wait(timeout_s)

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.wait()

    def clean_up(self) -> None:
        """However the test ended, nothing of it goes on."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.wait()

    def stop_between_commits(self, layer: str, timeout_s: float = START_TIMEOUT_S) -> bool:
        """Freeze the JVM after a batch's commit in this table and before the one that follows."""
        jvm, deadline = self.jvm, time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self._await_commit(layer, deadline)
            jvm.suspend()
            if self._is_torn(layer):
                return True
            jvm.resume()
        return False

    def _await_commit(self, layer: str, deadline: float) -> None:
        log = self._log(layer)
        following = f"{max(_versions(log)) + 1:020d}.json"
        while log.modified_at(following) is None and time.monotonic() < deadline:
            time.sleep(0.0005)

    def _is_torn(self, layer: str) -> bool:
        """The checkpoint's commit is the last of a batch, quarantine's the one before it."""
        planned = self.checkpoint.last_planned()
        follower_has_it = (
            self._last_written_batch("quarantine") == planned
            if layer == "silver"
            else self.checkpoint.last_commit() == planned
        )
        return self._last_written_batch(layer) == planned and not follower_has_it

    def _last_written_batch(self, layer: str) -> int:
        """-1 where no batch has written."""
        log = self._log(layer)
        newest = log.read(f"{max(_versions(log)):020d}.json") or ""
        actions = [json.loads(line) for line in newest.splitlines()]
        return int(next((a["txn"]["version"] for a in actions if "txn" in a), -1))

    def _log(self, layer: str) -> Objects:
        table = getattr(self.job.tables, layer)
        return objects_at(f"{table}/_delta_log", self.job.engine.bucket)


def _versions(log: Objects) -> list[int]:
    return [int(name.removesuffix(".json")) for name in log.names() if name.endswith(".json")]
