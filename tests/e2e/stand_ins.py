"""Pipelines whose job is a stand-in for Spark."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

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
        return stack.airflow().of(name).state_of("supervise") == "deferred"
    except Exception:  # Airflow is on its way up: any of its errors means "not yet"
        return False
