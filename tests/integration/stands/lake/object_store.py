"""An object store of a test run: started, stopped, killed."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass

from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.stack.io.object_store import (
    check_bucket,
    ensure_trust_store,
    is_open,
    prepare_object_store,
)
from millrace.storage.core.bucket import LOCAL_BUCKET, Bucket
from tests.support import start

START_TIMEOUT_S = 60


@dataclass
class RunningStore:
    layout: Platform
    bucket: Bucket
    program: Program
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def prepare(cls, layout: Platform, port: int) -> RunningStore:
        bucket = Bucket(
            name=LOCAL_BUCKET,
            endpoint=f"https://127.0.0.1:{port}",
            credentials_file=layout.object_store_credentials,
            ca_file=layout.ca,
            trust_store=layout.trust_store,
        )
        program = prepare_object_store(layout, bucket, port)
        ensure_trust_store(bucket)
        return cls(layout, bucket, program)

    def start(self) -> None:
        self.process = start(self.program)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not is_open(self.bucket):
            assert self.process.poll() is None, self.program.log.read_text()[-2000:]
            assert time.monotonic() < deadline, self.program.log.read_text()[-2000:]
            time.sleep(0.1)
        check_bucket(self.bucket)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def clean_up(self) -> None:
        """For good: what is killed leaves its sockets behind."""
        self.stop(signal.SIGKILL)
        for socket in self.program.outside:
            socket.unlink(missing_ok=True)
