"""The tasks of the DAG `incident`: gather, page, notify, offer, replay."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, BaseOperator, BaseOperatorLink, Context
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowSkipException

from millrace.base.hidden import hidden
from millrace.deployments.io.keeper import utc_now
from millrace.fleet.core.incident_page import render_incident
from millrace.fleet.io.incident_scene import look
from millrace.incidents.core.event import Event
from millrace.incidents.core.incident import Incident, gather, offered_replay
from millrace.incidents.io.incident_folders import Incidents
from millrace.kafka.core.platform_topics import EVENTS
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.base.plan_approve_do import ASKED_AGAIN, as_list

_REPLAY, _LEAVE = "Replay", "Leave it"
_OFFER = "offer"
# By name: an asset without watchers, named here, would take away those of the schedule's.
_ASSET = Asset.ref(name=EVENTS)
# Longer than a scheduler is away; what is older is known, or comes with the events of its run.
_LOOK_BACK = timedelta(hours=6)


def page_path(incident_id: str) -> str:
    return f"/fleet/api/incidents/{incident_id}"


def airflow_url() -> str:
    return str(conf.get("api", "base_url")).rstrip("/")


def started_by(context: Context) -> list[Event]:
    """The events that Airflow counts to this run."""
    return _events(one for many in context["triggering_asset_events"].values() for one in many)


def recent(context: Context) -> list[Event]:
    """Airflow 3.3 counts to a run what came up to the first event that asked for it. One that came
    while that run was waiting asks for no other, and would wait for whatever goes wrong next."""
    since = utc_now() - _LOOK_BACK
    return _events(context["inlet_events"][_ASSET].after(since.isoformat()))


def _events(messages: Iterable[Any]) -> list[Event]:
    payloads = (one.extra.get("payload") for one in messages)
    return [Event.model_validate(payload) for payload in payloads if payload]


class GatherOperator(BaseOperator):
    """Which incidents the events are, or belong to. One at a time, or two runs would make two."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_active_tis_per_dag=1, inlets=[_ASSET], **kwargs)

    def execute(self, context: Context) -> list[dict[str, Any]]:
        store, run = Incidents(platform_here().incidents), str(context["run_id"])
        known = store.all()
        unseen = [one for one in known if is_unseen(one, store, run)]
        seen = [one for one in known if one not in unseen]
        again = (event for one in unseen for event in one.events)
        touched = gather(seen, (*again, *started_by(context), *recent(context)), run)
        for incident in touched:
            store.write(incident)
        store.forget_oldest()
        self.log.info("incidents: %s", ", ".join(one.id for one in touched) or "nothing new")
        return [_told(one, seen) for one in touched]


def is_unseen(incident: Incident, store: Incidents, run: str) -> bool:
    """A try of this run before this one wrote it down, and ended before anybody got to see it."""
    return incident.run == run and store.page(incident.id) is None


def _told(incident: Incident, seen: list[Incident]) -> dict[str, Any]:
    old = {event.id for one in seen for event in one.events}
    news = [event.id for event in incident.events if event.id not in old]
    return {"id": incident.id, "grew": any(one.id == incident.id for one in seen), "news": news}


class IncidentOperator(BaseOperator):
    """About one incident, as it was gathered: its id, whether it only grew, its new events."""

    template_fields = ("incident",)

    def __init__(self, *, incident: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.incident = incident

    def read(self) -> Incident:
        return read_incident(self.incident)


def read_incident(told: dict[str, Any]) -> Incident:
    incident = Incidents(platform_here().incidents).read(told["id"])
    if incident is None:
        raise AirflowSkipException(f"incident {told['id']} is so old that it was forgotten")
    return incident


class IncidentPage(BaseOperatorLink):
    """A button on the task's page."""

    name = "Incident page"

    def get_link(self, operator: PageOperator, *, ti_key: object) -> str:  # type: ignore[override]
        return page_path(operator.incident["id"])


class PageOperator(IncidentOperator):
    """All that is known, on one page."""

    operator_extra_links = (IncidentPage(),)

    def execute(self, context: Context) -> str:
        incident, place = self.read(), platform_here()
        scene = look(place, incident.pipeline, utc_now(), airflow_url())
        Incidents(place.incidents).write_page(incident.id, render_incident(incident, scene))
        url = airflow_url() + page_path(incident.id)
        self.log.info("%s: %s", incident.title, hidden(incident.first.text))
        self.log.info("page: %s", url)
        return url


class NotifyOperator(IncidentOperator):
    """Posts an incident once; what it grew by is on its page."""

    def execute(self, context: Context) -> None:
        from millrace.incidents.io.incident_webhook import post, read_address

        file = platform_here().webhook_file
        if self.incident["grew"]:
            raise AirflowSkipException("it was told already; its page has what is new")
        if file is None:
            raise AirflowSkipException("no webhook_file in infra/local.yaml, so nobody is told")
        with said_plainly():
            post(read_address(file), message_of(self.read(), airflow_url()))
        self.log.info("told")


def message_of(incident: Incident, airflow: str) -> dict[str, Any]:
    """`text` is what messengers show; the rest is for programs."""
    page, text = airflow + page_path(incident.id), hidden(incident.first.text)
    return {
        "text": f"{incident.title}: {text}\n{page}",
        "id": incident.id,
        "kind": incident.kind,
        "pipeline": incident.pipeline,
        "site": incident.first.site,
        "at": incident.began.isoformat(),
        "page": page,
    }


class OfferReplayOperator(HITLOperator):
    """Asks whether to replay, with the form filled in; unanswered, nothing is done."""

    template_fields = (*HITLOperator.template_fields, "incident")

    def __init__(self, *, incident: Any, **kwargs: Any) -> None:
        super().__init__(
            subject="Replay what is missing?",
            body="",
            options=[_REPLAY, _LEAVE],
            defaults=[_LEAVE],
            response_timeout=timedelta(days=1),
            **ASKED_AGAIN,
            **kwargs,
        )
        self.incident = incident

    def execute(self, context: Context) -> Any:
        incident = read_incident(self.incident)
        news = [event for event in incident.events if event.id in self.incident["news"]]
        form = offered_replay(incident.pipeline, tuple(gap for event in news for gap in event.gaps))
        if form is None:
            raise AirflowSkipException("a replay would bring nothing")
        for name, value in form.model_dump(mode="json").items():
            self.params[name] = value
        self.subject = f"Replay what {incident.pipeline} misses?"
        what = "\n".join(hidden(event.text) for event in news)
        self.body = f"{as_list(what)}\n[page]({page_path(incident.id)})"
        return super().execute(context)


class ReplayAsAnsweredOperator(TriggerDagRunOperator):
    """Begins the DAG `replay`, which looks, asks again with the counts, and adds."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trigger_dag_id="replay", **kwargs)

    def execute(self, context: Context) -> None:
        ti = context["ti"]
        answer = ti.xcom_pull(task_ids=_OFFER, map_indexes=ti.map_index)
        if answer["chosen_options"] != [_REPLAY]:
            raise AirflowSkipException("nobody wanted a replay")
        self.conf = answer["params_input"]
        super().execute(context)
