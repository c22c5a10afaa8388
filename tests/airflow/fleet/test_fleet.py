"""The Fleet page's answers: to whom, and what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.api_fastapi.app import create_auth_manager, init_plugins
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from deltalake import QueryBuilder, write_deltalake
from fastapi import FastAPI
from fastapi.testclient import TestClient

from millrace.fleet.io.incident_scene import look
from millrace.incidents.core.event import EventKind, make_event
from millrace.incidents.core.incident import gather
from millrace.incidents.io.incident_folders import Incidents
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.ingest.io import ingest_deployment
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.core.journal import Journal
from millrace.jobs.io.deployments import remember
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.relay.core.beat import RelayBeat, SourceBeat
from millrace.relay.io.beat_files import write_relay_beat
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.passwords import ensure_user
from millrace.secrets.io.pki import ensure_certificate
from millrace_airflow.fleet import fleet_api
from tests.airflow.conftest import PIPELINE
from tests.airflow.fakes import InMemoryRunner
from tests.counting import CountBeat, CounterDeployment, CounterFile


@pytest.fixture
def client(database: None, layout: Platform) -> Iterator[TestClient]:
    create_auth_manager().init()
    fleet_api._view.cache_clear()  # noqa: SLF001 - each test has a checkout of its own
    write_down(layout, "temperature")
    yield TestClient(fleet_api.app)
    fleet_api._view.cache_clear()  # noqa: SLF001


def write_down(layout: Platform, name: str) -> None:
    now = datetime.now(UTC)
    part = PartitionLag(
        topic="t", partition=0, position=90, end=100, oldest_waiting=now, newest_at=now
    )
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=10,
        rows_total=100,
        last_batch_at=now,
        reachable=True,
        partitions=(part,),
        refused={"decode": 1},
    )
    beat = IngestBeat(
        job=name, generation=1, fingerprint="f", phase=Phase.RUNNING, at=now, sites=(site,)
    )
    mailbox = Mailbox(layout.job(name))
    mailbox.write_heartbeat(beat)
    mailbox.write_journal(Journal().noting(now, Condition.HEALTHY, "running").sampling(now, beat))


def signed_in(role: str) -> dict[str, str]:
    user = SimpleAuthManagerUser(username=role, role=role)
    token = create_auth_manager().generate_jwt(user)
    return {"Authorization": f"Bearer {token}"}


def paths() -> list[str]:
    found = [re.sub(r"\{\w+\}", "temperature", route.path) for route in fleet_api.app.routes]
    assert len(found) >= 5
    return found


@pytest.mark.parametrize("path", paths())
def test_nobody_sees_anything_without_a_name(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 401
    wrong = {"Authorization": "Bearer not-a-token"}
    assert client.get(path, headers=wrong).status_code == 403


@pytest.mark.parametrize("path", paths())
def test_a_viewer_sees_and_changes_nothing(client: TestClient, path: str) -> None:
    viewer = signed_in("VIEWER")
    # Nothing was judged yet, so there is no page of it.
    assert client.get(path, headers=viewer).status_code in (200, 404)
    for change in (client.post, client.put, client.patch, client.delete):
        assert change(path, headers=viewer).status_code == 405


HOSTILE = ["a" * 300, "20260101T000000.000-" + "a" * 300, "%2e%2e%2fx", "..%5cx", "a%00", "a%0a"]


@pytest.mark.parametrize("name", HOSTILE, ids=[name[-5:] for name in HOSTILE])
@pytest.mark.parametrize(
    "path", ["/api/sites/{}", "/api/incidents/{}", "/api/pipelines/{}", "/api/pipelines/{}/log"]
)
def test_a_hostile_name_in_an_address_is_not_found(
    client: TestClient, layout: Platform, path: str, name: str
) -> None:
    everywhere = PIPELINE.replace("[plant-a]", "all").replace("temperature", "everywhere")
    (layout.pipelines / "everywhere.yaml").write_text(everywhere)
    answer = client.get(path.format(name), headers=signed_in("ADMIN"))
    assert answer.status_code == 404


def test_the_page_is_part_of_airflows_server(client: TestClient) -> None:
    app = FastAPI()
    init_plugins(app)
    server = TestClient(app)
    assert server.get("/fleet/api/pipelines").status_code == 401
    answer = server.get("/fleet/api/pipelines", headers=signed_in("VIEWER"))
    assert [card["name"] for card in answer.json()["pipelines"]] == ["temperature"]


def test_only_who_may_operate_gets_buttons(client: TestClient) -> None:
    for role, mine in (("VIEWER", []), ("OP", ["temperature"]), ("ADMIN", ["temperature"])):
        answer = client.get("/api/pipelines", headers=signed_in(role)).json()
        assert answer["may_operate"] == mine
        (card,) = answer["pipelines"]
        assert (card["state"], card["lag_records"], card["refused"]) == ("healthy", 10, 0.01)


def test_a_pipelines_page_has_its_partitions_and_events(client: TestClient) -> None:
    answer = client.get("/api/pipelines/temperature", headers=signed_in("VIEWER")).json()
    assert answer["may_operate"] is False
    (part,) = answer["page"]["parts"]
    assert (part["site"], part["position"], part["waiting"]) == ("plant-a", 90, 10)
    assert datetime.fromisoformat(part["newest_at"]) <= datetime.now(UTC)
    (event,) = answer["page"]["events"]
    assert event["condition"] == "healthy"


def test_a_pipeline_that_is_not_there_is_named(client: TestClient) -> None:
    answer = client.get("/api/pipelines/vibration", headers=signed_in("ADMIN"))
    assert answer.status_code == 404
    assert "'vibration'" in answer.json()["detail"]


def test_a_sites_page_tells_of_its_connection_users_and_certificates(
    client: TestClient, layout: Platform
) -> None:
    ensure_certificate(layout, layout.certificate("plant-a", "admin"), "plant-a-admin", Role.CLIENT)
    broker = layout.broker_certificate("plant-a")
    ensure_certificate(layout, broker, "plant-a-broker", Role.PEER, ["localhost"])
    ensure_user(layout, "plant-a", "app")
    answer = client.get("/api/sites/plant-a", headers=signed_in("VIEWER")).json()
    assert (answer["connection"], answer["users"]) == ("answers", ["app"])
    assert [one["pipeline"] for one in answer["readers"]] == ["temperature"]
    assert answer["certificates"].keys() == {"admin", "broker"}
    for end in answer["certificates"].values():
        assert datetime.fromisoformat(end) > datetime.now(UTC)
    assert ensure_user(layout, "plant-a", "app").password not in str(answer)


@pytest.mark.parametrize("name", ["plant-z", "..%2F..%2Fsecrets", "plant-a.yaml"])
def test_a_site_that_no_pipeline_reads_is_not_there(client: TestClient, name: str) -> None:
    assert client.get(f"/api/sites/{name}", headers=signed_in("ADMIN")).status_code == 404


def test_refused_messages_are_shown_with_their_reasons(
    client: TestClient, layout: Platform
) -> None:
    path, viewer = "/api/pipelines/temperature/refused", signed_in("VIEWER")
    assert client.get(path, headers=viewer).json() == []
    rows = QueryBuilder().execute(
        "SELECT TIMESTAMP '2026-11-18T12:00:00Z' AS kafka_time, 'plant-a' AS site, 't' AS topic,"
        " 0 AS partition, 7 AS offset, 'decode' AS stage, make_array('no schema 9') AS reasons,"
        " arrow_cast('{', 'Binary') AS value"
    )
    write_deltalake(str(layout.table("quarantine", "temperature")), rows)
    (shown,) = client.get(path, headers=viewer).json()
    assert (shown["offset"], shown["reasons"], shown["value"]) == (7, ["no schema 9"], "{")


def test_the_end_of_a_jobs_log_is_shown_without_secrets(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["line 1", "password=its-secret"]
    monkeypatch.setattr(InMemoryRunner, "log_tail", lambda *_: lines)
    answer = client.get("/api/pipelines/temperature/log", headers=signed_in("VIEWER"))
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text == "line 1\npassword=***"


def test_the_result_page_may_run_nothing(client: TestClient, layout: Platform) -> None:
    latest = layout.quality("temperature") / "latest"
    latest.mkdir(parents=True)
    (latest / "page.html").write_text("<script>alert(1)</script>")
    answer = client.get("/api/pipelines/temperature/quality", headers=signed_in("VIEWER"))
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_files_that_did_not_change_are_not_read_again(
    client: TestClient, layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes with 200 pipelines: benchmarks/fleet_page.py."""
    admin = signed_in("ADMIN")
    client.get("/api/pipelines", headers=admin)
    read: list[Path] = []
    monkeypatch.setattr(ingest_deployment, "load_file", lambda file, _: read.append(file))
    client.get("/api/pipelines", headers=admin)
    assert read == []
    (layout.pipelines / "other.yaml").write_text(PIPELINE.replace("temperature", "other"))
    client.get("/api/pipelines", headers=admin)
    assert [file.name for file in read] == ["other.yaml"]


def test_relays_that_ran_are_listed_with_what_halts_them(
    client: TestClient, layout: Platform
) -> None:
    viewer = signed_in("VIEWER")
    layout.relays.mkdir(parents=True, exist_ok=True)
    (layout.relays / "to-centre.yaml").write_text("")
    (layout.relays / "never-ran.yaml").write_text("")
    now = datetime.now(UTC)
    site = SourceBeat(site="plant-a", trouble="no answer", partitions=())
    beat = RelayBeat(relay="to-centre", at=now, began=now, messages=7, sites=(site,))
    write_relay_beat(layout, beat)
    (listed,) = client.get("/api/relays", headers=viewer).json().items()
    assert listed[0] == "to-centre"
    assert (listed[1]["state"], listed[1]["sites_up"], listed[1]["sites"]) == ("waiting", 0, 1)
    assert listed[1]["notes"] == ["no answer"]
    write_relay_beat(layout, beat.model_copy(update={"at": now - timedelta(minutes=1)}))
    assert client.get("/api/relays", headers=viewer).json()["to-centre"]["state"] == "silent"


@pytest.fixture
def counter(client: TestClient, layout: Platform) -> None:
    """A job of another kind, which counts, beside the pipeline."""
    remember(layout, CounterDeployment(file=CounterFile(name="c", step=1, runner="memory")))
    now = datetime.now(UTC)
    common = {"job": "c", "generation": 3, "fingerprint": "f", "phase": Phase.RUNNING, "at": now}
    mailbox = Mailbox(layout.job("c"))
    mailbox.write_heartbeat(CountBeat(**common, count=42, counted_at=now))
    mailbox.write_journal(Journal().noting(now, Condition.HEALTHY, "running"))


@pytest.mark.usefixtures("counter")
def test_a_job_of_another_kind_has_a_line_a_page_and_a_log_and_is_no_pipeline(
    client: TestClient,
) -> None:
    operator = signed_in("OP")
    listed = client.get("/api/jobs", headers=operator).json()
    (card,) = listed["jobs"]
    assert (card["name"], card["kind"], card["dag_id"]) == ("c", "counting", "counting.c")
    assert (card["state"], card["generation"]) == ("healthy", 3)
    assert card["figures"] == {"count": "42"}
    assert listed["may_operate"] == ["c"]
    page = client.get("/api/jobs/c", headers=operator).json()
    assert [note["condition"] for note in page["page"]["events"]] == ["healthy"]
    assert "OutOfMemoryError" in client.get("/api/jobs/c/log", headers=operator).text
    pipelines = client.get("/api/pipelines", headers=operator).json()["pipelines"]
    assert [one["name"] for one in pipelines] == ["temperature"]
    assert client.get("/api/jobs/temperature", headers=operator).status_code == 404
    assert client.get("/api/pipelines/c", headers=operator).status_code == 404


@pytest.mark.usefixtures("counter")
def test_a_viewer_of_jobs_gets_no_buttons(client: TestClient) -> None:
    viewer = signed_in("VIEWER")
    assert client.get("/api/jobs", headers=viewer).json()["may_operate"] == []
    assert not client.get("/api/jobs/c", headers=viewer).json()["may_operate"]


@pytest.mark.usefixtures("counter")
def test_incidents_of_a_job_of_another_kind_lead_to_its_page(
    client: TestClient, layout: Platform
) -> None:
    for name in ("temperature", "c"):
        write_incident(layout, name)
    listed = client.get("/api/incidents", headers=signed_in("VIEWER")).json()
    assert {line["pipeline"]: line["is_pipeline"] for line in listed} == {
        "temperature": True,
        "c": False,
    }
    scene = look(layout, "c", datetime.now(UTC), "https://airflow")
    assert scene.dag_id == "counting.c"
    assert any("OutOfMemoryError" in line for line in scene.log)


def write_incident(layout: Platform, name: str, hour: int = 0) -> None:
    at = datetime(2026, 1, 1, hour, tzinfo=UTC)
    event = make_event(EventKind.GAP_FOUND, name, at, "5 are missing", site="plant-a")
    (incident,) = gather((), [event], run="its-run")
    store = Incidents(layout.incidents)
    store.write(incident)
    store.write_page(incident.id, f"<p>{name}</p>")


def test_the_newest_incidents_are_listed_to_who_may_see_their_pipelines(
    client: TestClient, layout: Platform
) -> None:
    viewer = signed_in("VIEWER")
    assert client.get("/api/incidents", headers=viewer).json() == []
    for hour in range(22):
        write_incident(layout, "temperature", hour)
    write_incident(layout, "hidden", 23)
    listed = client.get("/api/incidents", headers=viewer).json()
    assert [line["at"][11:13] for line in listed] == [f"{hour:02}" for hour in range(21, 1, -1)]
    newest = listed[0]
    assert (newest["kind"], newest["pipeline"]) == ("gap found", "temperature")
    assert (newest["sites"], newest["run"]) == (["plant-a"], "its-run")
    assert client.get(f"/api/incidents/{newest['id']}", headers=viewer).text == "<p>temperature</p>"


def test_an_incident_is_shown_to_who_may_see_its_pipeline(
    client: TestClient, layout: Platform
) -> None:
    for name in ("temperature", "hidden"):
        write_incident(layout, name)
    path = "/api/incidents/20260101T000000.000-gap-found-"
    answer = client.get(f"{path}temperature-plant-a", headers=signed_in("VIEWER"))
    assert answer.text == "<p>temperature</p>"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for other in (f"{path}hidden-plant-a", f"{path}other", "/api/incidents/..%2Ftemperature"):
        assert client.get(other, headers=signed_in("VIEWER")).status_code == 404
