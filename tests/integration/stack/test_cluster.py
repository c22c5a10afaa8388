"""The same job on a Spark cluster: a master and two workers, one of which dies."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from millrace.settings.core.spark_cluster import PORTS_NEEDED, Cluster, page_ports
from millrace.stack.io.local_cluster import is_ready, prepare_cluster
from tests.integration.conftest import START_TIMEOUT_S, NewDriver, RunningSite
from tests.integration.ingest.test_exactly_once import (
    NUMBERS,
    Producing,
    assert_each_once,
    broker_ends,
    offsets_in,
    start_and_await_batches,
    table_rows,
)
from tests.support import free_ports, start, wait_until


@dataclass
class RunningCluster:
    cluster: Cluster
    processes: dict[str, subprocess.Popen[bytes]]

    def kill(self, name: str) -> None:
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()


@pytest.fixture(scope="module")
def cluster(site: RunningSite) -> Iterator[RunningCluster]:
    layout = site.layout
    settings = Cluster(port=free_ports(PORTS_NEEDED), secret_file=layout.cluster_secret)
    running = RunningCluster(settings, {})
    for program in prepare_cluster(layout, settings):
        running.processes[program.name] = start(program)
    try:
        wait_until(lambda: is_ready(settings), START_TIMEOUT_S)
        yield running
    finally:
        for name, process in running.processes.items():
            if process.poll() is None:
                running.kill(name)


def command_lines() -> list[str]:
    return [" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])]


@pytest.mark.timeout(600)
def test_a_worker_that_dies_costs_and_doubles_nothing(
    site: RunningSite, new_driver: NewDriver, cluster: RunningCluster
) -> None:
    driver = new_driver("clustered", refine=NUMBERS)
    engine = driver.job.engine.model_copy(update={"cluster": cluster.cluster})
    driver.job = driver.job.model_copy(update={"engine": engine})
    with Producing(site, "clustered") as producing:
        start_and_await_batches(driver, 2)
        assert_secret_is_nowhere(cluster.cluster.secret_file)
        assert_executors_share_classes(cluster)
        cluster.kill("spark-worker-1")
        before = driver.checkpoint.last_commit()
        wait_until(lambda: driver.checkpoint.last_commit() > before + 2, 2 * START_TIMEOUT_S)
    wait_until(lambda: driver.delta.count() >= producing.sent, START_TIMEOUT_S)
    assert driver.stop() == 0
    ends = broker_ends(site, "clustered")
    assert_each_once(table_rows(driver.delta), producing.sent, ends)
    refined = offsets_in(driver, "silver") + offsets_in(driver, "quarantine")
    assert sorted(refined) == [(part, n) for part in ends for n in range(ends[part])]


def test_a_cluster_without_room_ends_the_job_which_says_so(
    site: RunningSite, new_driver: NewDriver, cluster: RunningCluster
) -> None:
    driver = new_driver("crowded")
    impatient = cluster.cluster.model_copy(update={"executor_within_s": 5})
    engine = driver.job.engine.model_copy(update={"cluster": impatient, "memory": "9g"})
    driver.job = driver.job.model_copy(update={"engine": engine})
    driver.start()
    assert driver.wait(START_TIMEOUT_S) == 1
    beat = driver.beat()
    assert beat
    assert "gave no executor of 9g" in beat.error


def assert_executors_share_classes(cluster: RunningCluster) -> None:
    """They are as the driver to the archive that makes their start short."""
    workers = [psutil.Process(one.pid) for one in cluster.processes.values()]
    executors = [child for worker in workers for child in worker.children()]
    assert executors
    for executor in executors:
        assert "classes.jsa" in {Path(part.path).name for part in executor.memory_maps()}


def assert_secret_is_nowhere(secret_file: Path) -> None:
    assert secret_file.stat().st_mode & 0o777 == 0o600
    secret = secret_file.read_text().strip().partition("=")[2]
    assert not [line for line in command_lines() if secret in line]


def test_the_masters_page_is_encrypted_and_shows_nobody_anything(
    site: RunningSite, cluster: RunningCluster
) -> None:
    trusted = ssl.create_default_context(cafile=str(site.layout.ca))
    page = f"https://127.0.0.1:{page_ports(cluster.cluster)[0]}/"
    wait_until(lambda: answer_of(page, trusted) is not None)
    assert answer_of(page, trusted) == 403


def answer_of(page: str, trusted: ssl.SSLContext) -> int | None:
    try:
        with urllib.request.urlopen(page, context=trusted, timeout=10) as answer:  # noqa: S310 - ours
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except urllib.error.URLError:
        return None
