from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from millrace.platform.core.platform import Platform
from tests.e2e.stack import SITES, Stack, kill_all
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
def before(stack: Stack, first_words: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first root's certificate, and an administrator's that it has signed."""
    folder, layout = tmp_path_factory.mktemp("before"), Platform(stack.home)
    shutil.copy(layout.ca, folder / "ca.pem")
    shutil.copy(layout.certificate(SITES[0], "admin"), folder / "admin.pem")
    return folder


@pytest.fixture(scope="session")
def moved(stack: Stack, first_words: str, before: Path) -> Stack:
    """The same by words more: tables in a bucket, jobs on a Spark cluster, a registry.

    All of it begins with certificates of a new root; both roots are trusted.
    """
    stack.make("down")
    for step in ("begin", "switch"):
        done = stack.millrace("authority", step)
        assert done.returncode == 0, done.stderr
    stack.make("up", "STORE=s3", "RUNNER=standalone", "CENTRE=0", "REGISTRY=1")
    return stack
