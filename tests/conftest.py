"""What every tier takes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The same inputs in every run, so that a run says the same of the same code; `make fuzz` takes new.
_QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=200, suppress_health_check=_QUIET
)
settings.register_profile(
    "fuzz", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=_QUIET
)
settings.load_profile("fixed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mosquitto", action="store_true", help="it is the MQTT broker of the tests")
    parser.addoption("--full", action="store_true", help="every cell of every matrix, long races")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))
