"""Jobs without Spark: pipelines whose job is a stand-in, and counters, a kind of their own."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests import counting
from tests.e2e.stack import Airflow, Stack

_PIPELINE = """\
name: {name}
sites: [plant-a]
topics: [{name}]
format: json
table: {table}
supervise: {{restarts_per_hour: 20}}
runner: local
"""


def install(stack: Stack, names: list[str]) -> None:
    """Jobs that run by now stay as they are."""
    driver = stack.home / "spark_jobs" / "ingest" / "driver.py"
    real = driver.with_name("real_driver.py")
    if not real.exists():
        shutil.copy2(driver, real)
        draft = driver.with_suffix(".new")
        shutil.copy2(Path(__file__).with_name("stand_in_driver.py"), draft)
        draft.replace(driver)
    for name in names:
        text = _PIPELINE.format(name=name, table=name.replace("-", "_"))
        (stack.home / "dags" / "pipelines" / f"{name}.yaml").write_text(text)


def remove(stack: Stack, names: list[str]) -> None:
    for name in names:
        (stack.home / "dags" / "pipelines" / f"{name}.yaml").unlink()


_COUNTER = "counter-"
_PACKAGE = {
    "METADATA": "Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n",
    "entry_points.txt": "[millrace.kinds]\ncounting = counting:CountingKind\n",
}
_DAGS = """\
from millrace.platform.io.environment import platform_here
from millrace_airflow.jobs.job_dag import job_dag

for file in sorted((platform_here().dags / "counters").glob("*.yaml")):
    dag_id = f"counting.{file.stem}"
    globals()[dag_id] = job_dag(
        "counting", file.stem, dag_id=dag_id, description="counts", doc="", tags={"counting"}
    )
"""


def install_counter(stack: Stack, name: str, pause_s: float) -> None:
    """As whoever installs a package that brings a kind; Airflow finds it when it starts again."""
    assert name.startswith(_COUNTER)
    for venv in (".venv", ".venv-lake"):
        (packages,) = (stack.home / venv / "lib").glob("python3.*/site-packages")
        shutil.copy2(counting.__file__, packages / "counting.py")
        info = packages / "counting-1.0.dist-info"
        info.mkdir(exist_ok=True)
        for file, text in _PACKAGE.items():
            (info / file).write_text(text)
    dags = stack.home / "dags"
    (dags / "counters").mkdir(exist_ok=True)
    text = f"name: {name}\nstep: 1\npause_s: {pause_s}\nsupervise: {{restarts_per_hour: 20}}\n"
    (dags / "counters" / f"{name}.yaml").write_text(text)
    (dags / "counters.py").write_text(_DAGS)


def airflow_of(stack: Stack, name: str) -> Airflow:
    kind = "counting" if name.startswith(_COUNTER) else "pipeline"
    return stack.airflow().of(name, kind)


def remove_counter(stack: Stack, name: str) -> None:
    (stack.home / "dags" / "counters" / f"{name}.yaml").unlink()


def stop(airflow: Airflow) -> None:
    """As the Fleet page does it."""
    airflow.pause(paused=True)
    airflow.mark_failed("supervise")


def is_watched(stack: Stack, name: str) -> bool:
    """One process, at work; Airflow waits for it, and its watch has looked within seconds."""
    sign = stack.home / "var" / "jobs" / name / "watched"
    if len(stack.job_processes(name)) != 1 or not sign.exists():
        return False
    if stack.phase(name) != "running" or time.time() - sign.stat().st_mtime > 15:
        return False
    try:
        return airflow_of(stack, name).state_of("supervise") == "deferred"
    except Exception:  # Airflow is on its way up: any of its errors means "not yet"
        return False
