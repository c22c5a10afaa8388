"""A job in a JVM that spark-submit started, as Kubernetes and EMR Serverless start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from millrace.core.engine import EngineSpec
from millrace.core.remote import launch_settings
from millrace.core.remote_settings import RemoteSettings
from tests.support import wait_until

CHECKOUT = Path(__file__).parents[2]
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
# After the signal it asks Spark for something, as a job does that finishes its batch.
JOB = """
import sys
from pathlib import Path
from millrace.core.engine import EngineSpec
from spark_jobs.session import build_session
from spark_jobs.stopping import StopRequest

stop = StopRequest.install()
session = build_session("submitted", EngineSpec.model_validate_json(sys.argv[1]))
print("running", flush=True)
while not stop.wait(0.05):
    pass
rows = session.range(10).count()
session.stop()
Path(sys.argv[2]).write_text(f"{stop.reason}, {rows} rows, the end")
"""


@contextmanager
def submitted(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process is the JVM; Python is its child."""
    jars = tuple(CHECKOUT / ".jars" / name for name in ("spark", "jvm"))
    engine = EngineSpec(memory="512m", class_path=jars, is_submitted=True)
    settings = {
        **launch_settings(engine, RemoteSettings(home=CHECKOUT)),
        "spark.master": "local[1]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": engine.memory,
    }
    main, log = folder / "job.py", folder / "log"
    main.write_text(JOB)
    (folder / "spark.conf").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    command = [SUBMIT, "--properties-file", folder / "spark.conf", main]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, engine.model_dump_json(), folder / "result"],
            env={
                **os.environ,
                "PYTHONPATH": str(CHECKOUT),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.mark.timeout(240)
def test_a_term_to_the_jvm_lets_python_finish_before_spark_ends(tmp_path: Path) -> None:
    with submitted(tmp_path) as process:
        wait_until(lambda: "running" in (tmp_path / "log").read_text(), timeout_s=120)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert (tmp_path / "result").read_text() == "SIGTERM, 10 rows, the end"
