"""What a gateway had to send again is in silver once, though the job died in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import Producer

from millrace.core.columns import Column
from millrace.core.gateway.identity import Identity
from millrace.core.refine import RefineSpec
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.ingest_driver import START_TIMEOUT_S
from tests.integration.test_poison import rows_of
from tests.support import wait_until

# The duplicates and the kill that are tested with both readers and writers in every run.
pytestmark = pytest.mark.engines(always=True)
COLUMNS = (Column(name="n", type="bigint", path=("n",), required=True),)


@pytest.mark.timeout(600)
def test_a_request_that_arrived_late_doubles_nothing_in_silver(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("twins", refine=RefineSpec(format="json", columns=COLUMNS))
    driver.start()
    send(site, driver.job.pipeline, range(50))
    wait_until(lambda: len(rows_of(driver, "silver", '"n"')) == 50, START_TIMEOUT_S, "50 rows")
    driver.kill_all()
    send(site, driver.job.pipeline, [*range(20, 50), *range(50, 60)])
    driver.start()
    wait_until(
        lambda: len(rows_of(driver, "quarantine", '"offset"')) == 30, START_TIMEOUT_S, "twins"
    )
    assert Counter(n for (n,) in rows_of(driver, "silver", '"n"')) == Counter(range(60))
    assert Counter(stage for (stage,) in rows_of(driver, "quarantine", '"stage"')) == {"twin": 30}
    assert driver.stop() == 0


def send(site: RunningSite, topic: str, numbers: Iterable[int]) -> None:
    """Each as the gateway would name it; a number's key is always the same."""
    identity = Identity("plant-t", "lines", topic)
    producer = Producer(site.settings("app"))
    for number in numbers:
        key, value = b"%d" % (number % 6), b'{"n": %d}' % number
        producer.produce(topic, value, key, headers=identity.headers(1, number))
    assert producer.flush(30) == 0
