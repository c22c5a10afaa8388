"""One Spark session for all of these tests, as a job has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.session import build_session

JARS = tuple(Path(__file__).parents[2] / ".jars" / name for name in ("spark", "jvm"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = build_session("test", EngineSpec(memory="768m", class_path=JARS))
    yield session
    session.stop()
