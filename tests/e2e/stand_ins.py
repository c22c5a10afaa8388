"""Pipelines whose job is a stand-in for Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.e2e.stack import Stack

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
    driver = stack.home / "spark_jobs" / "driver.py"
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
