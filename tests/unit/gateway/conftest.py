"""What tests of a gateway's parts share."""

from __future__ import annotations

import pytest

from millrace.gateway.spool.io import witness


@pytest.fixture(scope="session", autouse=True)
def _own_witnesses(tmp_path_factory: pytest.TempPathFactory) -> None:
    """They end with the tests, and not with the machine's next boot."""
    witness.PLACE = tmp_path_factory.mktemp("witnesses")
