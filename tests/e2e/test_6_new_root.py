"""A whole stack whose root was replaced: what it shows, and what the old root is worth."""

from __future__ import annotations

import os
import signal
import ssl
from datetime import UTC, datetime
from operator import ge
from pathlib import Path

import pytest

from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.settings.core.spark_cluster import page_ports
from tests.callers import administers, connected
from tests.e2e.stack import SITES, Json, Stack
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)
# For machines that others use too.
PATIENCE_S = 240


@pytest.fixture(scope="module")
def new_root(moved: Stack, before: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its certificate alone."""
    file = tmp_path_factory.mktemp("new") / "ca.pem"
    both = Platform(moved.home).ca.read_text()
    file.write_text(both.replace((before / "ca.pem").read_text(), ""))
    assert file.read_text() != both
    return file


def test_all_that_listens_shows_a_certificate_of_the_new_root(
    moved: Stack, before: Path, new_root: Path
) -> None:
    ports = moved.ports()
    pages = {f"Spark's page {port}": port for port in page_ports(moved.cluster())}
    inner = {f"masters of {site}": ports[f"kafka-{site}"] + 1 for site in SITES}
    outer = {
        name: port for name, port in ports.items() if not name.startswith(("spark-", "simulator-"))
    }
    assert len(outer) >= 7, "brokers, gateways, Airflow, the store, the registry"
    for port in {**outer, **inner, **pages}.values():
        connected(new_root, port, None).close()
        with pytest.raises(ssl.SSLCertVerificationError):
            connected(before / "ca.pem", port, None)


def test_what_the_old_root_has_signed_is_refused_from_its_end_on(
    moved: Stack, before: Path
) -> None:
    layout, old = Platform(moved.home), before / "admin.pem"
    site = next(one for one in load_sites(layout) if one.name == SITES[0])
    assert administers(site, layout.ca, old)
    ended = moved.millrace("authority", "end")
    assert ended.returncode == 0, ended.stderr

    os.kill(moved.pid_of(f"kafka-{site.name}"), signal.SIGKILL)
    new = layout.certificate(site.name, "admin")
    wait_until(lambda: administers(site, layout.ca, new), PATIENCE_S, "the broker is back")
    assert not administers(site, layout.ca, old)
    back_at = datetime.now(UTC).isoformat()
    wait_until(lambda: newest(moved) > back_at, PATIENCE_S, "the gateway delivers")
    ends = [one["end"] for one in waiting(moved)]
    wait_until(lambda: all(map(ge, positions(moved), ends)), PATIENCE_S, "the job reads it")


def newest(stack: Stack) -> str:
    """When the newest message came that the job knows of."""
    return max(one["newest_at"] or "" for one in waiting(stack))


def positions(stack: Stack) -> list[int]:
    return [one["position"] for one in waiting(stack)]


def waiting(stack: Stack) -> list[Json]:
    """What the job knows of each partition of the first site."""
    sites = {one["site"]: one["partitions"] for one in stack.heartbeat()["sites"]}
    return list(sites[SITES[0]])
