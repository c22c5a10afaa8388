"""Platform events from the outbox to whoever watches for them, through all that can be away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from millrace.incidents.core.event import Event, EventKind, make_event
from millrace.incidents.io.event_sender import deliver
from millrace.incidents.io.outbox import Outbox
from millrace.kafka.core.platform_topics import EVENTS
from millrace.kafka.io.client_errors import UnreachableError
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.sites.core.user_names import PLATFORM
from millrace.stack.core.airflow_config import BACKEND
from millrace.stack.io.airflow.airflow_connections import write_connections
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.support import wait_until

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def layout(site: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """A checkout whose events go over the site."""
    home = tmp_path_factory.mktemp("events")
    layout = replace(site.layout, home=home, events_site=site.spec.name)
    layout.sites.mkdir(parents=True)
    (home / "var").symlink_to(site.layout.var)
    spec = f"name: {site.spec.name}\nbootstrap: {site.spec.bootstrap}\n"
    (layout.sites / f"{site.spec.name}.yaml").write_text(spec)
    site.provision(wanted_for_site(site.spec, [], layout.events_site))
    return layout


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "outbox")


def event(number: int) -> Event:
    at = NOW + timedelta(seconds=number)
    return make_event(EventKind.SITE_SILENT, "p", at, f"event {number}", "plant-a")


@dataclass
class Watcher:
    """A process that hears of events as the triggerer would."""

    process: subprocess.Popen[bytes]
    heard_file: Path

    def heard(self) -> list[str]:
        """Each once, in the order in which they came first."""
        lines = self.heard_file.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return list({event["id"]: event["text"] for event in events}.values())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


@pytest.fixture
def watchers() -> Iterator[list[Watcher]]:
    started: list[Watcher] = []
    yield started
    for watcher in started:
        watcher.kill()


def watch(layout: Platform, home: Path, watchers: list[Watcher], *words: str) -> Watcher:
    write_connections(layout)
    file = {"connections_file_path": str(layout.airflow_connections)}
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__SECRETS__BACKEND": BACKEND,
        "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps(file),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "plugins"))),
    }
    heard = home / f"heard-{len(watchers)}"
    with heard.open("wb") as output, (home / "watcher.log").open("ab") as log:
        command = [sys.executable, "-m", "tests.integration.stands.services.event_watcher", *words]
        process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment, stdout=output, stderr=log
        )
    watchers.append(Watcher(process, heard))
    return watchers[-1]


def texts(*numbers: int) -> list[str]:
    return [f"event {number}" for number in numbers]


def test_an_event_is_heard_through_the_broker_s_and_the_watcher_s_end(
    site: RunningSite, layout: Platform, outbox: Outbox, watchers: list[Watcher], tmp_path: Path
) -> None:
    platform = site.settings(PLATFORM)
    for number in (1, 2):
        outbox.put(event(number))
    assert len(deliver(site.spec, platform, outbox)) == 2
    assert outbox.ids() == []

    forgetful = watch(layout, tmp_path, watchers, "2")
    forgetful.process.wait(40)
    assert forgetful.heard() == texts(1, 2)

    site.stop(signal.SIGKILL)
    outbox.put(event(3))
    with pytest.raises(UnreachableError, match="plant-t"):
        deliver(site.spec, platform, outbox, timeout_s=1)
    assert outbox.ids() == [event(3).id]
    watcher = watch(layout, tmp_path, watchers)
    site.start()
    wait_until(lambda: is_sent(site, outbox), 60, "sent")
    wait_until(lambda: len(watcher.heard()) >= 3, 60, "heard again")
    assert watcher.heard() == texts(1, 2, 3)

    site.produce(PLATFORM, EVENTS, [(None, b"not an event"), (None, None)])
    outbox.put(event(4))
    deliver(site.spec, platform, outbox)
    wait_until(lambda: watcher.heard() == texts(1, 2, 3, 4), 40, "heard, after what is no event")


def is_sent(site: RunningSite, outbox: Outbox) -> bool:
    try:
        deliver(site.spec, site.settings(PLATFORM), outbox, timeout_s=5)
    except UnreachableError:
        return False
    return outbox.ids() == []


def test_the_user_of_events_may_do_nothing_else(site: RunningSite, layout: Platform) -> None:
    refused: list[str] = []
    producer = Producer(site.settings(PLATFORM))
    producer.produce("temperature-data", b"x", on_delivery=lambda e, _: refused.append(e.name()))
    producer.flush(10)
    another = {**site.settings(PLATFORM), "group.id": "another"}
    consumer = Consumer(another)
    consumer.subscribe([EVENTS])
    refused.append(consumer.poll(10).error().name())
    consumer.close()
    assert refused == ["TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"]


def test_provisioning_events_twice_changes_nothing(site: RunningSite, layout: Platform) -> None:
    wanted = wanted_for_site(site.spec, [], layout.events_site)
    assert site.provision(wanted) == []
