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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` runs all but the tests marked `long`, `make test-all` those too."""
    if config.getoption("--full"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))
