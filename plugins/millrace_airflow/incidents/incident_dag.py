"""The DAG `incident`: what went wrong, on one page, to whom it concerns."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, task_group

from millrace.deployments import text as docs
from millrace.ingest.io.ingest_deployment import known_pipelines
from millrace.kafka.core.platform_topics import EVENTS
from millrace.platform.core.platform import Platform
from millrace_airflow.incidents.event_triggers import EventsTrigger, OutboxTrigger
from millrace_airflow.incidents.incident_operators import (
    GatherOperator,
    NotifyOperator,
    OfferReplayOperator,
    PageOperator,
    ReplayAsAnsweredOperator,
)
from millrace_airflow.repair.replay_fields import replay_form, site_names

# A run lasts until its offer is answered, for up to a day; it keeps no other one waiting.
_RUNS_AT_ONCE = 200
# A messenger that is away for a moment.
_PATIENCE = {
    "retries": 3,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": True,
}


def incident_dag(layout: Platform) -> DAG | None:
    """None where no site carries platform events."""
    pipelines = known_pipelines(layout)
    if layout.events_site is None or not pipelines:
        return None
    form = replay_form(pipelines, site_names(layout))
    with DAG(
        "incident",
        description="A page, a message and an offer for each thing that went wrong",
        doc_md=docs.INCIDENT,
        schedule=[Asset(EVENTS, watchers=_watchers())],
        max_active_runs=_RUNS_AT_ONCE,
        catchup=False,
        is_paused_upon_creation=False,
        tags={"incident"},
    ) as dag:
        gathered = GatherOperator(task_id="gather", **_PATIENCE)
        _each(form).expand(incident=gathered.output)
    return dag


def _watchers() -> list[AssetWatcher]:
    return [
        AssetWatcher("outbox", OutboxTrigger()),
        AssetWatcher(EVENTS, EventsTrigger()),
    ]


def _each(form: dict[str, Any]) -> Any:
    @task_group(group_id="each", prefix_group_id=False)
    def each(incident: Any) -> None:
        page = PageOperator(task_id="page", incident=incident, **_PATIENCE)
        offer = OfferReplayOperator(task_id="offer", incident=incident, params=form)
        # Beside each other: a messenger that refuses takes neither page nor offer away.
        page >> NotifyOperator(task_id="notify", incident=incident, **_PATIENCE)
        page >> offer >> ReplayAsAnsweredOperator(task_id="replay")

    return each
