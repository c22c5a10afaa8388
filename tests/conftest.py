"""What every tier takes."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mosquitto", action="store_true", help="it is the MQTT broker of the tests")
    parser.addoption("--full", action="store_true", help="every cell of every matrix, long races")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))
