"""A job of several sites, killed after versions that hold batches of several of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import QueryBuilder

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.lake.io.tables import open_table
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.ingest.test_exactly_once import NUMBERS, Producing, broker_ends, kill_jvm_now
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import wait_until

SITES = 5


@pytest.mark.long
@pytest.mark.timeout(900)
def test_kills_leave_each_record_of_each_site_once(
    site: RunningSite, new_driver: NewDriver
) -> None:
    """Each site is another reader of the same topic.

    Takes minutes: a driver starts after each of eight kills. `make test` has crashes between such
    commits in tests/spark/ingest/test_group_commit.py, and kills of a job of one site.
    """
    driver = new_driver("groups", refine=NUMBERS)
    (first,) = driver.job.inputs
    inputs = tuple(renamed(first, f"plant-{n}") for n in range(SITES))
    driver.job = driver.job.model_copy(update={"inputs": inputs})
    kills: list[Callable[[IngestDriver], None]] = [kill_jvm_now, IngestDriver.kill_all] * 4
    with Producing(site, driver.job.id) as producing:
        for kill in kills:
            before = shared_versions(driver)
            driver.start()
            wait_until(lambda: shared_versions(driver) > before, START_TIMEOUT_S)  # noqa: B023
            kill(driver)
    driver.start()
    wait_until(lambda: driver.delta.count() >= SITES * producing.sent, START_TIMEOUT_S)
    assert driver.stop() == 0
    ends = broker_ends(site, driver.job.id)
    assert sum(ends.values()) == producing.sent
    wanted = [(one.site, p, n) for one in inputs for p in ends for n in range(ends[p])]
    assert rows_in(driver, "bronze") == sorted(wanted)
    refined = [rows_in(driver, layer) for layer in ("silver", "quarantine")]
    assert all(refined)
    assert sorted(refined[0] + refined[1]) == sorted(wanted)


def renamed(one: SiteInput, name: str) -> SiteInput:
    checkpoint = str(Path(one.checkpoint).with_name(name))
    return one.model_copy(update={"site": name, "checkpoint": checkpoint})


def shared_versions(driver: IngestDriver) -> int:
    """How many versions of bronze hold batches of several sites."""
    logs = [log.read_text() for log in (driver.table / "_delta_log").glob("*.json")]
    return sum(log.count('\n{"txn"') > 1 for log in logs)


def rows_in(driver: IngestDriver, layer: str) -> list[tuple[str, int, int]]:
    table = open_table(getattr(driver.job.tables, layer))
    batches = (
        QueryBuilder().register("t", table).execute('SELECT site, "partition", "offset" FROM t')
    )
    rows = [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
    return sorted(rows)
