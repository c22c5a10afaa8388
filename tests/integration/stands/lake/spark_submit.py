"""`spark-submit` as a service calls it: the JVM is there first, and starts the job's Python."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from millrace.jobs.core.remote_jobs import launch_settings
from millrace.settings.core.engine import EngineSpec
from millrace.settings.core.remotes import RemoteSettings
from tests.integration.conftest import CHECKOUT

LAKE = CHECKOUT / ".venv-lake" / "bin"


@contextmanager
def submitted(
    module: str, arguments: Sequence[str], engine: EngineSpec, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        **launch_settings(engine, RemoteSettings(home=CHECKOUT)),
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": engine.memory,
    }
    file = log.with_name("spark.conf")
    file.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    main = CHECKOUT / f"{module}.py"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [LAKE / "spark-submit", "--properties-file", file, main, *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(CHECKOUT),
                "PYSPARK_PYTHON": str(LAKE / "python"),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
