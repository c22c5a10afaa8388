"""The DAG `incident`: its shape, and what each of its tasks does with an incident."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk import Asset
from airflow.sdk.definitions.asset import AssetNameRef
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    DagRunTriggerException,
    TaskAwaitingInput,
)

from millrace.base.ranges import Range
from millrace.incidents.core.event import Event, EventKind, Gap, make_event
from millrace.incidents.io.incident_folders import Incidents
from millrace.kafka.core.platform_topics import EVENTS
from millrace.platform.core.platform import Platform
from millrace.repair.core.replay_form import ReplayForm
from millrace_airflow.incidents.event_triggers import EventsTrigger, OutboxTrigger, as_payload
from millrace_airflow.incidents.incident_operators import (
    GatherOperator,
    NotifyOperator,
    OfferReplayOperator,
    PageOperator,
    ReplayAsAnsweredOperator,
)
from millrace_airflow.repair.replay_fields import replay_form, site_names
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY

NOW = datetime(2026, 1, 1, 3, tzinfo=UTC)
GAP = Gap(site="plant-a", topic="temperature-data", partition=0, span=Range(first=3, last=7))


@pytest.fixture(autouse=True)
def events_site(layout: Platform) -> None:
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text("events_site: plant-a\n")


def event(minute: int = 0, kind: EventKind = EventKind.GAP_FOUND, *gaps: Gap) -> Event:
    at = NOW + timedelta(minutes=minute)
    return make_event(kind, "temperature", at, "5 records are missing", None, gaps)


class AssetEvents(list[Any]):
    """As Airflow hands them to a task."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        payloads = ({"payload": one.model_dump(mode="json")} for one in events)
        super().__init__(SimpleNamespace(extra=extra) for extra in payloads)

    def after(self, _moment: str) -> AssetEvents:
        return self


def gathered(
    *events: Event, overtaken: tuple[Event, ...] = (), run: str = "run 1"
) -> list[dict[str, Any]]:
    """`overtaken`: by the making of the run, so not counted to it."""
    context: Any = {
        "run_id": run,
        "triggering_asset_events": {EVENTS: AssetEvents(events)},
        "inlet_events": {Asset.ref(name=EVENTS): AssetEvents((*events, *overtaken))},
    }
    return GatherOperator(task_id="gather").execute(context)


def paged(*events: Event) -> dict[str, Any]:
    (told,) = gathered(*events)
    PageOperator(task_id="page", incident=told).execute({})
    return told


def bag() -> DagBag:
    found = DagBag(dag_folder=REPOSITORY / "dags" / "incident.py", safe_mode=True)
    assert found.import_errors == {}
    return found


def test_the_page_comes_first_and_the_message_keeps_no_offer_waiting(layout: Platform) -> None:
    dag = bag().dags["incident"]
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "gather": {"page", "notify", "offer"},
        "page": {"notify", "offer"},
        "notify": set(),
        "offer": {"replay"},
        "replay": set(),
    }


def test_it_runs_by_events_and_an_offer_that_waits_holds_up_no_other_run(layout: Platform) -> None:
    dag = bag().dags["incident"]
    (asset,) = dag.timetable.asset_condition.objects
    kinds = {type(watcher.trigger) for watcher in asset.watchers}
    assert kinds == {EventsTrigger, OutboxTrigger}
    inlets = [inlet for task in dag.tasks for inlet in task.inlets]
    assert [type(inlet) for inlet in inlets] == [AssetNameRef], "an asset would hide the watchers"
    assert dag.max_active_runs >= 100
    assert dag.is_paused_upon_creation is False


def test_where_no_site_carries_events_there_is_no_dag(layout: Platform) -> None:
    layout.local_settings.write_text("airflow_port: 8080\n")
    assert bag().dags == {}


@pytest.mark.parametrize("kind", [EventsTrigger, OutboxTrigger])
def test_a_trigger_survives_being_written_and_read(kind: type) -> None:
    from airflow.sdk.module_loading import import_string

    path, arguments = kind().serialize()
    after = import_string(path)(**arguments)
    assert type(after) is kind
    assert after.serialize() == (path, arguments)


def test_a_message_that_is_no_event_is_none() -> None:
    assert as_payload(event().model_dump_json().encode()) == event().model_dump(mode="json")
    assert [as_payload(value) for value in (None, b"", b"{}")] == [None] * 3


def test_several_events_of_one_run_are_one_incident_each_kind() -> None:
    told = gathered(event(0), event(1), event(0, EventKind.GIVEN_UP))
    assert [len(one["news"]) for one in told] == [2, 1]
    assert [one["grew"] for one in told] == [False, False]


def test_an_event_that_comes_later_makes_the_incident_grow() -> None:
    first, later = paged(event(0)), gathered(event(1))
    assert later == [{"id": first["id"], "grew": True, "news": [event(1).id]}]


def test_a_doubled_delivery_does_nothing() -> None:
    paged(event(0))
    assert gathered(event(0)) == []


def test_an_event_that_asked_for_no_run_is_taken_by_the_one_there_is() -> None:
    told = gathered(event(0), overtaken=(event(0, EventKind.QUALITY_FAILED),))
    assert [one["news"] for one in told] == [
        [event(0).id],
        [event(0, EventKind.QUALITY_FAILED).id],
    ]


def test_what_another_run_is_about_to_show_is_left_to_it() -> None:
    gathered(event(0, EventKind.QUALITY_FAILED))
    others = event(0, EventKind.QUALITY_FAILED)
    (told,) = gathered(event(0), others, run="run 2")
    assert told["news"] == [event(0).id]


def test_what_a_try_before_did_not_bring_to_its_page_is_taken_up_again() -> None:
    assert gathered(event(0)) == gathered(event(0)) != []


def test_a_page_holds_what_is_known_and_its_button_leads_there(layout: Platform) -> None:
    (told,) = gathered(event(0))
    page = PageOperator(task_id="page", incident=told)
    url = page.execute({})
    (link,) = page.operator_extra_links
    assert url == f"http://testserver{link.get_link(page, ti_key=None)}"
    text = Incidents(layout.incidents).page(told["id"])
    assert "5 records are missing" in text
    assert "OutOfMemoryError" in text, "the end of the job's log"


class Hook(BaseHTTPRequestHandler):
    """A messenger; `answers` are the codes it gives, one after the other."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append(json.loads(body))  # type: ignore[attr-defined]
        self.send_response(self.server.answers.pop(0))  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """In silence."""


@pytest.fixture
def hook(layout: Platform) -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Hook)
    server.got, server.answers = [], [200]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    name_webhook(layout, f"http://127.0.0.1:{server.server_port}/s3cret")
    yield server
    server.shutdown()
    server.server_close()


def name_webhook(layout: Platform, address: str, mode: int = 0o600) -> None:
    file = layout.home / "webhook.txt"
    file.write_text(address + "\n")
    file.chmod(mode)
    layout.local_settings.write_text("events_site: plant-a\nwebhook_file: webhook.txt\n")


def notify(told: dict[str, Any]) -> None:
    NotifyOperator(task_id="notify", incident=told).execute({})


def test_an_incident_is_posted_with_its_page(hook: Any) -> None:
    told = paged(event(0))
    notify(told)
    (message,) = hook.got
    assert message["text"].startswith("gap found: temperature: 5 records are missing\n")
    assert message["page"] == f"http://testserver/fleet/api/incidents/{told['id']}"


def test_what_an_incident_grew_by_is_not_posted_again(hook: Any) -> None:
    paged(event(0))
    with pytest.raises(AirflowSkipException, match="already"):
        notify(paged(event(1)))
    assert hook.got == []


@pytest.mark.parametrize(
    ("code", "error"),
    [(503, AirflowException), (429, AirflowException), (404, AirflowFailException)],
)
def test_a_messenger_that_refuses_is_tried_again_only_where_that_may_help(
    hook: Any, code: int, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    hook.answers = [code]
    with pytest.raises(AirflowException, match=f"127.0.0.1.*{code}") as caught:
        notify(paged(event(0)))
    assert type(caught.value) is error
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r} {caplog.text}"


@pytest.mark.parametrize(
    ("address", "mode", "problem"),
    [
        ("https://127.0.0.1:1/s3cret", 0o644, "chmod 600"),
        ("http://messenger.example/s3cret", 0o600, "https"),
        ("s3cret", 0o600, "https"),
        ("http://127.0.0.1:1/s3cret", 0o600, "ConnectError"),
    ],
    ids=["others may read it", "plain text", "no address", "nobody there"],
)
def test_an_address_that_cannot_be_used_is_not_told_either(
    layout: Platform, address: str, mode: int, problem: str
) -> None:
    name_webhook(layout, address, mode)
    with pytest.raises(AirflowException, match=problem) as caught:
        notify(paged(event(0)))
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_without_a_webhook_nobody_is_told_and_that_is_said() -> None:
    with pytest.raises(AirflowSkipException, match="webhook_file"):
        notify(paged(event(0)))


def offer(layout: Platform, told: dict[str, Any]) -> OfferReplayOperator:
    from millrace.ingest.io.ingest_deployment import known_pipelines

    form = replay_form(known_pipelines(layout), site_names(layout))
    return OfferReplayOperator(task_id="offer", incident=told, params=form)


def test_an_offer_is_the_replays_form_filled_in(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's server is told of the question; here it is the list `asked`."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **question: asked.append(question))
    task = offer(layout, paged(event(0, EventKind.GAP_FOUND, GAP)))
    with pytest.raises(TaskAwaitingInput):
        task.execute({"task_instance": SimpleNamespace(id="1")})
    assert "5 records are missing" in asked[0]["body"]
    form = {name: field["value"] for name, field in asked[0]["params"].items()}
    assert form == {
        "pipeline": "temperature",
        "source": "kafka",
        "sites": ["plant-a"],
        "topics": ["temperature-data"],
        "partitions": [0],
        "since": None,
        "until": None,
        "first_offset": 3,
        "last_offset": 7,
        "dry_run": False,
    }
    dag = DagBag(dag_folder=REPOSITORY / "dags" / "replay.py", safe_mode=True).dags["replay"]
    for name, value in form.items():
        dag.params.get_param(name).resolve(value)
    assert form.keys() == dict(dag.params).keys() == ReplayForm.model_fields.keys()


def test_an_offer_ends_by_itself_with_nothing_done(layout: Platform) -> None:
    asked = offer(layout, paged(event(0, EventKind.GAP_FOUND, GAP)))
    assert (asked.defaults, asked.response_timeout) == (["Leave it"], timedelta(days=1))


@pytest.mark.parametrize("kind", [EventKind.QUALITY_FAILED, EventKind.GAP_FOUND])
def test_where_a_replay_would_bring_nothing_nobody_is_asked(
    layout: Platform, kind: EventKind
) -> None:
    with pytest.raises(AirflowSkipException, match="nothing"):
        offer(layout, paged(event(0, kind))).execute({})


def answered(option: str) -> Any:
    answer = {"chosen_options": [option], "params_input": {"pipeline": "temperature"}}

    def pull(*, task_ids: str, map_indexes: int) -> Any:
        assert (task_ids, map_indexes) == ("offer", 2)
        return answer

    return {"ti": SimpleNamespace(map_index=2, xcom_pull=pull)}


def test_a_yes_begins_the_replay_with_the_form_as_it_was_left() -> None:
    with pytest.raises(DagRunTriggerException) as begun:
        ReplayAsAnsweredOperator(task_id="replay").execute(answered("Replay"))
    assert begun.value.trigger_dag_id == "replay"
    assert begun.value.conf == {"pipeline": "temperature"}


def test_anything_else_begins_none() -> None:
    with pytest.raises(AirflowSkipException, match="nobody"):
        ReplayAsAnsweredOperator(task_id="replay").execute(answered("Leave it"))
