"""What a gateway had to send again is in silver once, though the job died in between.

Beside it came what no job should ever get.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import Producer

from millrace.gateway.spool.core.message_identity import Identity
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.ingest.test_poison import POISON, rows_of
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S
from tests.support import wait_until

# The kill that every run tests with the parts of Spark and Delta: each of the laws here is tested
# with Millrace's own parts elsewhere, in test_exactly_once.py, test_poison.py and tests/spark.
pytestmark = pytest.mark.engines(theirs=True)
COLUMNS = (Column(name="n", type="bigint", path=("n",), required=True),)
# All but the message that takes 2 GB of memory.
SMALL_POISON = {
    key: POISON[key] for key in (b"deep", b"not a number", b"broken avro", b"half", b"nothing")
}


@pytest.mark.timeout(600)
def test_a_late_request_and_poison_around_a_kill_leave_each_number_once_in_silver(
    site: RunningSite, new_driver: NewDriver
) -> None:
    """Takes more than a minute on a busy machine: the job starts twice."""
    driver = new_driver("twins", refine=RefineSpec(format="json", columns=COLUMNS))
    driver.start()
    send(site, driver.job.id, range(50))
    send_poison(site, driver.job.id)
    wait_until(lambda: len(rows_of(driver, "silver", '"n"')) == 50, START_TIMEOUT_S, "50 rows")
    driver.kill_all()
    send(site, driver.job.id, [*range(20, 50), *range(50, 60)])
    send_poison(site, driver.job.id)
    driver.start()
    refused = 30 + 2 * len(SMALL_POISON)
    wait_until(
        lambda: len(rows_of(driver, "quarantine", '"offset"')) == refused,
        START_TIMEOUT_S,
        "twins and poison",
    )
    assert Counter(n for (n,) in rows_of(driver, "silver", '"n"')) == Counter(range(60))
    kept = rows_of(driver, "quarantine", '"key", "value", "stage"')
    poison = [(bytes(key), bytes(value or b"")) for key, value, stage in kept if stage != "twin"]
    assert len(kept) - len(poison) == 30
    assert Counter(poison) == Counter([*SMALL_POISON.items()] * 2)
    assert driver.stop() == 0


def send(site: RunningSite, topic: str, numbers: Iterable[int]) -> None:
    """Each as the gateway would name it; a number's key is always the same."""
    identity = Identity("plant-t", "lines", topic)
    producer = Producer(site.settings("app"))
    for number in numbers:
        key, value = b"%d" % (number % 6), b'{"n": %d}' % number
        producer.produce(topic, value, key, headers=identity.headers(1, number))
    assert producer.flush(30) == 0


def send_poison(site: RunningSite, topic: str) -> None:
    """Without a number, as what no gateway brought."""
    producer = Producer(site.settings("app"))
    for key, value in SMALL_POISON.items():
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0
