from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.stack import Stack, kill_all
from tests.support import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """One scratch copy for all tests; `make up` is the first thing they see of it."""
    home = Path(tempfile.mkdtemp(prefix="millrace-e2e-")).resolve()
    copy = Stack.copied(CHECKOUT, home)
    try:
        yield copy
    finally:
        copy.call("make", "down")
        kill_all(copy.processes())
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def first_words(stack: Stack) -> str:
    """What the first `make up` said. Nothing runs by the clock while tests measure."""
    words = stack.make("up")
    airflow = stack.airflow()
    for dag in ("maintain.temperature", "quality.temperature", "verify.temperature"):
        wait_until(partial(airflow.has, dag), 60, f"{dag} in Airflow")
        airflow.pause(paused=True, dag=dag)
    return words


@pytest.fixture
def up(stack: Stack, first_words: str) -> Stack:
    return stack


@pytest.fixture(scope="session")
def moved(stack: Stack, first_words: str) -> Stack:
    """The same by words more: tables in a bucket, jobs on a Spark cluster, a registry."""
    stack.make("down")
    stack.make("up", "STORE=s3", "RUNNER=standalone", "CENTRE=0", "REGISTRY=1")
    return stack
