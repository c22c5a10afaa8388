"""Where events wait, who hears of them, and what Airflow is told of the way there."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.base.errors import SpecErrors
from millrace.incidents.core.event import Event, EventKind, make_event, read_event
from millrace.incidents.core.incident import gather
from millrace.incidents.io.incident_folders import Incidents
from millrace.incidents.io.outbox import Outbox, tell
from millrace.kafka.core.platform_topics import EVENTS
from millrace.pipelines.io.loader import load_events_site
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.secrets.io.passwords import read_user
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.sites.core.user_names import PLATFORM
from millrace.stack.io.airflow.airflow_connections import write_connections

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = "airflow_port: 8080\nevents_site: plant-a\nwebhook_file: var/secrets/webhook.txt\n"


def event(number: int) -> Event:
    return make_event(EventKind.GAP_FOUND, "p", NOW + timedelta(seconds=number), f"{number}")


def layout(home: Path, text: str = SETTINGS) -> Platform:
    (home / "dags" / "pipelines").mkdir(parents=True)
    (home / "dags" / "sites").mkdir()
    site = "name: plant-a\nbootstrap: 127.0.0.1:19092\n"
    (home / "dags" / "sites" / "plant-a.yaml").write_text(site)
    (home / "infra").mkdir()
    (home / "infra" / "local.yaml").write_text(text)
    return Settings.from_env({HOME_VARIABLE: str(home)}).layout


def test_events_wait_in_their_order_and_are_read_as_written(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    for number in (2, 1, 3):
        outbox.put(event(number))
    waiting = [read_event(outbox.read(one) or "") for one in outbox.ids()]
    assert waiting == [event(number) for number in (1, 2, 3)]


def test_the_same_event_waits_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.put(event(1))
    outbox.put(event(1))
    assert outbox.ids() == [event(1).id]


def test_what_another_has_sent_is_no_trouble(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.remove(event(1).id)
    assert outbox.read(event(1).id) is None


def test_a_full_outbox_drops_the_oldest_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.incidents.io.outbox._KEPT", 2)
    outbox = Outbox(tmp_path)
    for number in range(3):
        outbox.put(event(number))
    assert outbox.ids() == [event(1).id, event(2).id]
    assert event(0).id in caplog.text


def test_nothing_is_kept_where_no_site_carries_events(tmp_path: Path) -> None:
    here = layout(tmp_path)
    tell(replace(here, events_site=None), [event(1)])
    assert Outbox(here.outbox).ids() == []
    tell(here, [event(1)])
    assert Outbox(here.outbox).ids() == [event(1).id]


def test_a_site_of_events_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    here = layout(tmp_path, "airflow_port: 8080\nevents_site: plant-b\n")
    with pytest.raises(SpecErrors, match=r"local\.yaml:2: events_site: .*'plant-b'.*plant-a"):
        load_events_site(here)


def test_without_a_word_there_are_no_events_and_no_webhook(tmp_path: Path) -> None:
    here = layout(tmp_path, "airflow_port: 8080\n")
    assert (here.events_site, here.webhook_file, load_events_site(here)) == (None, None, None)
    write_connections(here)
    assert json.loads(here.airflow_connections.read_text()) == {}


def test_airflow_s_password_is_in_a_file_of_its_owner_alone(tmp_path: Path) -> None:
    here = layout(tmp_path)
    assert here.webhook_file == tmp_path / "var" / "secrets" / "webhook.txt"
    write_connections(here)
    assert stat.S_IMODE(here.airflow_connections.stat().st_mode) == 0o600
    extra = json.loads(here.airflow_connections.read_text())[EVENTS]["extra_dejson"]
    assert extra["sasl.password"] == read_user(here, "plant-a", PLATFORM).password
    assert extra["security.protocol"] == "SASL_SSL"
    assert (extra["group.id"], extra["enable.auto.commit"]) == (EVENTS, False)


def test_incidents_are_read_as_written_and_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Incidents(tmp_path)
    made = [gather((), [event(hour * 3600)], "run")[0] for hour in range(4)]
    for incident in made:
        store.write(incident)
    assert store.all() == made
    assert store.page(made[0].id) is None
    store.write_page(made[0].id, "<p>")
    assert store.page(made[0].id) == "<p>"
    monkeypatch.setattr("millrace.incidents.core.incident._REMEMBERED", 3)
    store.forget_oldest()
    assert store.all() == made[1:]


def test_an_incident_of_another_version_is_none(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "incident.json").write_text('{"what": 1}')
    assert Incidents(tmp_path).all() == []
