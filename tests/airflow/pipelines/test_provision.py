"""Which failures of a site stop a pipeline, and which do not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.base.errors import TransientError
from millrace.deployments.io.holdoff import begins_at
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.io.deployments import provision, recall
from millrace.kafka.io.client_errors import RefusedError, UnreachableError
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Wanted
from millrace.sites.core.spec import SiteSpec
from tests.airflow.conftest import PIPELINE, SITE
from tests.airflow.jobs.test_ensure import edit

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Sites:
    """Stands in for the brokers: `trouble` per site, and what was wanted of each."""

    def __init__(self) -> None:
        self.trouble: dict[str, Exception] = {}
        self.wanted: dict[str, Wanted] = {}

    def provision_site(self, site: SiteSpec, wanted: Wanted, *_: Any) -> list[str]:
        if site.name in self.trouble:
            raise self.trouble[site.name]
        self.wanted[site.name] = wanted
        return ["topic temperature-data: created"]


@pytest.fixture
def sites(layout: Platform, monkeypatch: pytest.MonkeyPatch) -> Sites:
    (layout.sites / "plant-b.yaml").write_text(SITE.replace("plant-a", "plant-b"))
    edit(layout, "sites: [plant-a]", "sites: all")
    fake = Sites()
    monkeypatch.setattr("millrace.provisioning.io.site_admin.provision_site", fake.provision_site)
    return fake


def run(layout: Platform, *, last_try: bool = False) -> list[str]:
    return provision(read_deployment(layout, "temperature"), layout, last_try=last_try)


def away(site: str) -> UnreachableError:
    return UnreachableError(site, "no answer")


def test_every_difference_is_told_and_a_second_time_there_is_none(
    layout: Platform, sites: Sites
) -> None:
    changes = run(layout)
    assert "site plant-b: topic temperature-data: created" in changes
    assert any(str(layout.table("bronze", "temperature")) in change for change in changes)
    assert all(change.startswith("site") for change in run(layout))


def test_a_site_that_is_away_is_tried_again(layout: Platform, sites: Sites) -> None:
    sites.trouble["plant-a"] = away("plant-a")
    with pytest.raises(TransientError, match="plant-a"):
        run(layout)
    assert recall(layout, "temperature") is None


def test_the_others_go_on_without_it_in_the_end(
    layout: Platform, sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    sites.trouble["plant-a"] = away("plant-a")
    assert run(layout, last_try=True)
    assert "going on without a site: site 'plant-a'" in caplog.text


def test_with_no_site_at_all_nothing_new_is_deployed(layout: Platform, sites: Sites) -> None:
    sites.trouble = {"plant-a": away("plant-a"), "plant-b": away("plant-b")}
    with pytest.raises(TransientError):
        run(layout, last_try=True)


def test_what_was_provisioned_before_needs_no_site(layout: Platform, sites: Sites) -> None:
    run(layout)
    sites.trouble = {"plant-a": away("plant-a"), "plant-b": away("plant-b")}
    assert run(layout, last_try=True) == []


def test_a_site_that_refuses_stops_the_pipeline(layout: Platform, sites: Sites) -> None:
    sites.trouble["plant-a"] = RefusedError("plant-a", "wrong password")
    with pytest.raises(RefusedError):
        run(layout, last_try=True)


def test_a_shared_topic_has_as_many_partitions_as_any_pipeline_asks_for(
    layout: Platform, sites: Sites
) -> None:
    other = PIPELINE.replace("name: temperature", "name: heat").replace(
        "table: t", "table: other_t"
    )
    (layout.pipelines / "heat.yaml").write_text(other + "partitions: 7\n")
    run(layout)
    partitions = {topic.name: topic.partitions for topic in sites.wanted["plant-a"].topics}
    assert partitions["temperature-data"] == 7


class Task:
    """A task of a run, and what came of the run before it."""

    dag_id = "pipeline.temperature"

    def __init__(self, run_state: str, supervise: str | None) -> None:
        self.last = SimpleNamespace(run_id="last", state=run_state, end_date=NOON)
        self.supervise = supervise

    def get_previous_dagrun(self) -> SimpleNamespace:
        return self.last

    def get_task_states(
        self, *, dag_id: str, run_ids: list[str], task_ids: list[str]
    ) -> dict[str, dict[str, str | None]]:
        assert (dag_id, run_ids, task_ids) == (self.dag_id, ["last"], ["supervise"])
        return {"last": {"supervise": self.supervise}}


@pytest.mark.parametrize(
    ("run_state", "supervise", "waits"),
    [
        ("failed", "upstream_failed", True),
        ("failed", None, True),
        ("failed", "failed", False),
        ("success", "success", False),
    ],
)
def test_only_a_run_that_never_came_to_supervise_holds_the_next_one_off(
    run_state: str, supervise: str | None, waits: bool
) -> None:
    resume_at = NOON + timedelta(seconds=30) if waits else None
    assert begins_at(Task(run_state, supervise)) == resume_at
