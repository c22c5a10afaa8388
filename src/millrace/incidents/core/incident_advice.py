"""What a person may do next about an incident."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millrace.base.model import Frozen
from millrace.incidents.core.event import EventKind
from millrace.incidents.core.incident import Incident
from millrace.repair.core.alarms import replay_command


class AdvisedStep(Frozen):
    """`path`: of a page of Airflow. `command`: to be typed in the checkout."""

    text: str
    path: str | None = None
    command: str | None = None


def advise(incident: Incident, dag_id: str | None = None) -> tuple[AdvisedStep, ...]:
    """`dag_id`: of the DAG that keeps the job, where the job is no pipeline's."""
    name = incident.pipeline
    if dag_id:
        of_job = (
            AdvisedStep(text="How the job is now", path=f"/plugin/fleet?job={name}"),
            AdvisedStep(text="What its supervision did", path=f"/dags/{dag_id}/runs"),
        )
        return (*_STEPS[incident.kind](incident), *of_job)
    common = (
        AdvisedStep(text="How the pipeline is now", path=f"/plugin/fleet?pipeline={name}"),
        AdvisedStep(text="What its supervision did", path=f"/dags/pipeline.{name}/runs"),
    )
    is_pipelines = incident.kind not in (EventKind.RELAY_HALTED, EventKind.RELAY_RENEWED)
    return (*_STEPS[incident.kind](incident), *(common if is_pipelines else ()))


def _quality(incident: Incident) -> Iterator[AdvisedStep]:
    name = incident.pipeline
    yield AdvisedStep(
        text="See which rows break which expectation",
        path=f"/fleet/api/pipelines/{name}/quality",
    )
    yield AdvisedStep(
        text="If the suite is wrong and not the data: mend it, then judge those days anew",
        path=f"/dags/backfill.{name}",
        command=f"millrace backfill {name} --from DAY --dry-run",
    )


def _gap(incident: Incident) -> Iterator[AdvisedStep]:
    for gap in incident.gaps:
        command = replay_command(incident.pipeline, gap.part, (gap.span,))
        source = " --source bronze" if gap.source == "bronze" else ""
        yield AdvisedStep(
            text=f"Bring back {gap.part} {gap.span}: answer the task 'offer' of this run, or type",
            command=f"{command}{source}",
        )
    yield AdvisedStep(text="The replay's own form", path="/dags/replay")
    yield AdvisedStep(
        text="See whether all is there again", command=f"millrace verify {incident.pipeline}"
    )


def _silent(incident: Incident) -> Iterator[AdvisedStep]:
    for site in dict.fromkeys(event.site for event in incident.events if event.site):
        yield AdvisedStep(
            text=f"Whether {site} answers, and who else reads it",
            path=f"/plugin/fleet?site={site}",
        )
        yield AdvisedStep(
            text=f"See what {site} sends, if anything",
            command=f"millrace tail TOPIC@{site}",
        )


def _site_halted(incident: Incident) -> Iterator[AdvisedStep]:
    for site in dict.fromkeys(event.site for event in incident.events if event.site):
        yield AdvisedStep(
            text=f"The other sites go on. Mend what {site} was halted for: it is tried again"
            " every ten minutes, and at once when its secret or CA file changed",
            path=f"/plugin/fleet?site={site}",
        )
    yield AdvisedStep(text="Its whole log", command=f"less var/log/job-{incident.pipeline}.log")


def _made_anew(incident: Incident) -> Iterator[AdvisedStep]:
    yield AdvisedStep(
        text="Nothing has to be done if the site was reinstalled, or the topic deleted on purpose."
        " Else ask who did it: what nobody had read of the former topic is gone with it"
    )
    yield AdvisedStep(
        text="See what is there of both topics, and which numbers of their producers never came",
        command=f"millrace verify {incident.pipeline}",
    )


def _loop(incident: Incident) -> Iterator[AdvisedStep]:
    yield AdvisedStep(
        text="Read below why it dies. A changed file is tried at once, without waiting for the"
        " next try: mend and save it"
    )
    yield AdvisedStep(text="Its whole log", command=f"less var/log/job-{incident.pipeline}.log")


def _halted(incident: Incident) -> Iterator[AdvisedStep]:
    name = incident.pipeline
    yield AdvisedStep(text="How the relay is now, and what is halted", command="millrace status")
    yield AdvisedStep(
        text="The other partitions go on. Once the cause is known, and a loss agreed to",
        command=f"millrace relay {name} --accept-loss SITE/TOPIC/PARTITION",
    )


def _renewed(_incident: Incident) -> Iterator[AdvisedStep]:
    yield AdvisedStep(text="How far the relay is with the new topic", command="millrace status")
    yield AdvisedStep(
        text="Nothing needs to be done, if the site was made anew on purpose: all of the new topic"
        " is brought. What the old one had and the relay had not brought yet is gone with it"
    )


def _held(incident: Incident) -> Iterator[AdvisedStep]:
    name = incident.pipeline
    yield AdvisedStep(
        text="Look whether the clocks of this machine, of the job's and of the brokers are right,"
        " and `keep` in the pipeline's file. A stack that was down for days, or a shorter `keep`,"
        " explains it too",
        command=f"millrace maintain {name} --plan",
    )
    yield AdvisedStep(
        text="If these days may go: trigger the DAG with 'Drop the days held back', or type",
        path=f"/dags/maintain.{name}",
        command=f"millrace maintain {name} --yes",
    )


def _trial(_incident: Incident) -> Iterator[AdvisedStep]:
    yield AdvisedStep(text="Nothing is wrong: somebody tried whether this reaches you")


_STEPS: dict[EventKind, Callable[[Incident], Iterator[AdvisedStep]]] = {
    EventKind.QUALITY_FAILED: _quality,
    EventKind.GAP_FOUND: _gap,
    EventKind.SITE_SILENT: _silent,
    EventKind.SITE_HALTED: _site_halted,
    EventKind.CRASH_LOOPING: _loop,
    EventKind.GIVEN_UP: _loop,
    EventKind.RELAY_HALTED: _halted,
    EventKind.RELAY_RENEWED: _renewed,
    EventKind.TOPIC_ANEW: _made_anew,
    EventKind.DAYS_HELD: _held,
    EventKind.TRIAL: _trial,
}
