"""The ingest job with tables and checkpoints in a bucket: what holds in a folder holds there."""

from __future__ import annotations

import signal
import threading

import psutil
import pytest
from deltalake import DeltaTable

from millrace.base.addresses import LOCAL_NAMES
from millrace.lake.io.tables import open_table
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.storage.io.bucket_login import read_login
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.ingest.test_exactly_once import (
    NUMBERS,
    Producing,
    assert_each_once,
    assert_each_refined_once,
    assert_survives_kills,
    broker_ends,
    kill_both,
    kill_jvm,
    kill_python,
    table_rows,
)
from tests.integration.stands.lake.faulty_store import Answer, Ask, Fault, FaultyStore, faulty
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.integration.stands.lake.object_store import RunningStore
from tests.support import wait_until


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_kills_leave_every_record_once_and_in_order(
    site: RunningSite, store: RunningStore, new_driver: NewDriver
) -> None:
    """The job cannot tell where its tables are: `make test` has these kills in a folder.

    Takes minutes: a driver starts after each kill.
    """
    driver = new_driver("kills-s3", store.bucket, NUMBERS)
    assert_survives_kills(site, driver, (kill_jvm, kill_python, kill_both))
    assert_no_login_shown(store, driver)


def assert_no_login_shown(store: RunningStore, driver: IngestDriver) -> None:
    secret = read_login(store.bucket)["aws_secret_access_key"].encode()
    files = [file for file in driver.log_file.parent.rglob("*") if file.is_file()]
    assert driver.log_file in files
    assert [file for file in files if secret in file.read_bytes()] == []


@pytest.mark.timeout(1200)
def test_a_store_that_dies_and_comes_back_loses_and_doubles_nothing(
    site: RunningSite, store: RunningStore, new_driver: NewDriver
) -> None:
    driver = new_driver("store-dies", store.bucket, NUMBERS)
    with Producing(site, "store-dies") as producing:
        driver.start()
        await_batches(driver, 2)
        assert_no_login_in_processes(store, driver)
        for _ in range(2):
            store.stop(signal.SIGKILL)
            store.start()
            await_batches(driver, 2)
    assert driver.is_running(), "the job sat it out"
    assert_all_arrives(site, store, driver, producing.sent)
    assert_each_refined_once(driver, broker_ends(site, "store-dies"))
    assert_no_login_shown(store, driver)


def await_batches(driver: IngestDriver, count: int) -> None:
    before = driver.checkpoint.last_commit()
    wait_until(lambda: driver.checkpoint.last_commit() >= before + count, START_TIMEOUT_S)


def assert_no_login_in_processes(store: RunningStore, driver: IngestDriver) -> None:
    secret = read_login(store.bucket)["aws_secret_access_key"]
    assert driver.process
    assert store.process
    for process in (
        psutil.Process(driver.process.pid),
        driver.jvm,
        psutil.Process(store.process.pid),
    ):
        assert secret not in " ".join(process.cmdline())
        assert secret not in process.environ().values()


@pytest.mark.timeout(1200)
def test_kills_while_a_checkpoint_file_is_put_lose_and_double_nothing(
    site: RunningSite, store: RunningStore, new_driver: NewDriver, full: bool
) -> None:
    windows = [("offsets", True)]
    if full:
        windows += [("commits", False), ("offsets", False), ("commits", True)]
    proxy_certificate = ensure_server_certificate(store.layout, "proxy", LOCAL_NAMES)
    with faulty(store.bucket, *proxy_certificate) as proxy:
        driver = new_driver("puts", proxy.bucket)
        with Producing(site, "puts") as producing:
            for log, arrives in windows:
                driver.start()
                await_batches(driver, 1)
                kill_in_put(driver, proxy, log, arrives=arrives)
            driver.start()
            await_batches(driver, 1)
        assert_all_arrives(site, store, driver, producing.sent)


def kill_in_put(driver: IngestDriver, proxy: FaultyStore, log: str, *, arrives: bool) -> None:
    """Kill the job while its put of the next batch's file is under way."""
    begun, killed = threading.Event(), threading.Event()

    def hold(ask: Ask) -> Answer | None:
        if arrives:
            ask()
        begun.set()
        killed.wait(60)
        return None

    proxy.add(Fault("PUT", rf"/{driver.job.id}/[^/]+/{log}/\d+$", hold))
    assert begun.wait(60)
    driver.kill_all()
    killed.set()


def assert_all_arrives(
    site: RunningSite, store: RunningStore, driver: IngestDriver, sent: int
) -> None:
    def bronze() -> DeltaTable:
        # Not through a proxy in this process: delta-rs lets no other thread run while it asks.
        return open_table(driver.job.tables.bronze, store.bucket)

    wait_until(lambda: bronze().count() >= sent, START_TIMEOUT_S)
    assert driver.stop() == 0
    assert_each_once(table_rows(bronze()), sent, broker_ends(site, driver.job.id))
