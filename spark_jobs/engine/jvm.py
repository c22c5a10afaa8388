"""The JVM beside this process: two processes that must live and die together."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from pyspark.sql import SparkSession

from millrace.base.errors import MillraceError


class JvmDiedError(MillraceError):
    def __init__(self, code: int) -> None:
        # A signal's number becomes what a shell would say of it.
        self.exit_code = 128 - code if code < 0 else code or 1
        super().__init__(f"Spark's JVM ended by itself with exit code {self.exit_code}")


@dataclass(frozen=True)
class Jvm:
    # None: the JVM is this process' parent, whose end StopRequest sees.
    process: subprocess.Popen[bytes] | None

    @classmethod
    def of(cls, session: SparkSession) -> Jvm:
        # PySpark starts it and has no public door to it.
        return cls(session.sparkContext._gateway.proc)  # noqa: SLF001

    def check(self, timeout_s: float = 0.0) -> None:
        """Raises when the JVM is gone; waits so long for it to go."""
        if self.process is None:
            return
        try:
            raise JvmDiedError(self.process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            return
