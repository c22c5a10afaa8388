"""How much one batch of a job reads, by a real broker."""

from __future__ import annotations

from random import Random

import pytest
from deltalake import QueryBuilder

from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S
from tests.support import wait_until

MB = 1 << 20
RECORD_BYTES, RECORDS = 20_000, 500


@pytest.mark.timeout(300)
def test_batches_of_large_records_stay_within_their_bytes(
    site: RunningSite, new_driver: NewDriver
) -> None:
    """The first batch is of as many rows as may be, as nobody knows yet how large they are."""
    driver = new_driver("large")
    driver.job = driver.job.model_copy(update={"rows_per_batch": 100, "bytes_per_batch": MB})
    value = Random(1).randbytes(RECORD_BYTES)
    site.produce("app", "large", [(b"%d" % n, value) for n in range(RECORDS)])
    driver.start()
    wait_until(lambda: driver.is_running() and driver.delta.count() == RECORDS, START_TIMEOUT_S)
    assert driver.stop() == 0
    query = "SELECT count(*) FROM t GROUP BY ingested_at ORDER BY ingested_at"
    found = QueryBuilder().register("t", driver.delta).execute(query)
    first, *others = [rows for batch in found for rows in batch.column(0).to_pylist()]
    # What a partition gets is rounded.
    assert 98 <= first <= 100
    assert max(others) <= MB / RECORD_BYTES + 2
    assert len(others) <= 2 * (RECORDS - 100) * RECORD_BYTES / MB, "and they are not tiny either"
