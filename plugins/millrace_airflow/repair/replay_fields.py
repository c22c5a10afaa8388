"""The form of a replay: of its own DAG, and of what an incident offers."""

from __future__ import annotations

from airflow.sdk import Param

from millrace.base.errors import MillraceError
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace_airflow.base.plan_approve_do import tick


def site_names(layout: Platform) -> list[str]:
    try:
        return [site.name for site in load_sites(layout)]
    except MillraceError:
        # dags/check_files.py shows what is wrong; the form still has its other fields.
        return []


def replay_form(pipelines: list[PipelineSpec], sites: list[str]) -> dict[str, Param]:
    names = sorted(spec.name for spec in pipelines)
    topics = sorted({topic for spec in pipelines for topic in spec.topics})
    return {
        "pipeline": Param(
            names[0],
            enum=names,
            title="Pipeline",
            description="Its tables get what they miss. What is there is left alone.",
        ),
        "source": Param(
            "kafka",
            enum=["kafka", "bronze"],
            title="Read from",
            description="kafka fills bronze and what is made of it; bronze fills silver and"
            " quarantine alone.",
        ),
        "sites": _several("Sites", sites),
        "topics": _several("Topics", topics),
        "partitions": Param(
            None,
            type=["null", "array"],
            items={"type": "integer", "minimum": 0},
            title="Partitions",
            description="None: all of them.",
        ),
        "since": _moment("From", "Of the broker's time, UTC. Empty: from the beginning."),
        "until": _moment("Until", "What came at this time is left out. Empty: up to now."),
        "first_offset": _offset("First offset", "Needs one site, one topic and one partition."),
        "last_offset": _offset("Last offset", "Included."),
        "dry_run": tick("Dry run", "Only say what is missing; ask nobody and write nothing."),
    }


def _several(title: str, known: list[str]) -> Param:
    return Param(
        None,
        type=["null", "array"],
        items={"type": "string", "enum": known} if known else {"type": "string"},
        examples=known,
        title=title,
        description="None: all of the pipeline's.",
    )


def _moment(title: str, text: str) -> Param:
    return Param(None, type=["null", "string"], format="date-time", title=title, description=text)


def _offset(title: str, text: str) -> Param:
    return Param(None, type=["null", "integer"], minimum=0, title=title, description=text)
