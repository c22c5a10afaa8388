"""A site's broker as integration tests have it, and a machine that has nothing yet."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import home, site
from tests.machine.box import Box, make_tree

__all__ = ["box", "home", "site"]


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    folder = Path(tempfile.mkdtemp(prefix="millrace-machine-")).resolve()
    machine = Box(folder / "tree")
    try:
        make_tree(machine.tree)
        machine.boot()
        yield machine
    finally:
        machine.cut_power()
        shutil.rmtree(folder)
