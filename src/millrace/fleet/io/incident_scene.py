"""Finds out all that is known of an incident's pipeline."""

from __future__ import annotations

from datetime import datetime

from millrace.fleet.core.incident_page import Scene
from millrace.fleet.io.status_view import StatusView
from millrace.ingest.io.ingest_deployment import read_alone
from millrace.jobs.io.installed_kinds import load_kind
from millrace.platform.core.platform import Platform
from millrace.quality.core.quality_task import QualityResult
from millrace.quality.core.verdict import ExpectationOutcome
from millrace.storage.io.files import read_text

_LOG_LINES = 40


def look(layout: Platform, pipeline: str, now: datetime, airflow: str) -> Scene:
    spec, view = read_alone(layout, pipeline), StatusView(layout)
    if spec is None:
        return _of_other_kind(view, pipeline, now, airflow)
    return Scene(
        at=now,
        airflow=airflow,
        page=view.page(spec),
        failed=_failed(layout, pipeline),
        log=view.log(spec.runner, spec.name, _LOG_LINES),
    )


def _of_other_kind(view: StatusView, job_id: str, now: datetime, airflow: str) -> Scene:
    """What is known of a job that is no pipeline's; nothing, if there is none."""
    job = view.jobs().get(job_id)
    if job is None:
        return Scene(at=now, airflow=airflow)
    return Scene(
        at=now,
        airflow=airflow,
        dag_id=load_kind(job.kind).dag_id(job_id),
        log=view.log(job.runner, job_id, _LOG_LINES),
    )


def _failed(layout: Platform, pipeline: str) -> tuple[ExpectationOutcome, ...]:
    text = read_text(layout.quality(pipeline) / "latest" / "result.json")
    outcomes = QualityResult.model_validate_json(text).outcomes if text else ()
    return tuple(one for one in outcomes if not one.passed)
