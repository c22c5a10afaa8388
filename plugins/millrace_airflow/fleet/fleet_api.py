"""What the Fleet page asks. Every route asks who is there, and shows what that user may see.

Nothing is changed here: the page's buttons use Airflow's own API, with its own rights.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from millrace.base.errors import MillraceError
from millrace.base.html import POLICY
from millrace.base.model import Frozen
from millrace.base.names import EventId, Name, is_named
from millrace.fleet.core.incident_card import IncidentLine
from millrace.fleet.core.job_card import JobCard, JobPage
from millrace.fleet.core.pipeline_card import Card, Page
from millrace.fleet.core.platform_status import RelayStatus
from millrace.fleet.core.site_card import SitePage
from millrace.fleet.io.status_view import StatusView
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.io.installed_kinds import load_kind
from millrace.lake.core.quarantine import Refused
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.io.environment import platform_here

PREFIX = "/fleet"
_LOG_LINES = 300
_SCRIPT = Path(__file__).with_name("fleet.js")


class Fleet(Frozen):
    pipelines: tuple[Card, ...]
    # Those that this user may start and stop.
    may_operate: tuple[str, ...]


class Jobs(Frozen):
    """Of other kinds than pipelines'."""

    jobs: tuple[JobCard, ...]
    may_operate: tuple[str, ...]


class JobDetail(Frozen):
    page: JobPage
    may_operate: bool


class Detail(Frozen):
    page: Page
    may_operate: bool


@cache
def _view() -> StatusView:
    return StatusView(platform_here())


def visible(user: GetUserDep) -> dict[str, PipelineSpec]:
    specs = _view().pipelines()
    seen = _allowed(user, specs, "GET")
    return {name: spec for name, spec in specs.items() if name in seen}


Visible = Annotated[dict[str, PipelineSpec], Depends(visible)]


def visible_jobs(user: GetUserDep) -> dict[str, Deployment]:
    """Jobs of other kinds."""
    jobs = _view().jobs()
    seen = _allowed_dags(user, _dags_of(jobs), "GET")
    return {name: job for name, job in jobs.items() if name in seen}


VisibleJobs = Annotated[dict[str, Deployment], Depends(visible_jobs)]


def _dags_of(jobs: dict[str, Deployment]) -> dict[str, str]:
    return {load_kind(job.kind).dag_id(name): name for name, job in jobs.items()}


def _allowed(user: Any, specs: dict[str, PipelineSpec], method: Any) -> set[str]:
    return _allowed_dags(user, {spec.dag_id: name for name, spec in specs.items()}, method)


def _allowed_dags(user: Any, ids: dict[str, str], method: Any) -> set[str]:
    """Names of those whose DAG this user may see or change; `ids` has a name for each DAG."""
    allowed = get_auth_manager().filter_authorized_dag_ids(
        dag_ids=set(ids), user=user, method=method
    )
    return {ids[dag_id] for dag_id in allowed}


def _named(specs: dict[str, PipelineSpec], name: str) -> PipelineSpec:
    if name not in specs:
        raise HTTPException(404, f"there is no pipeline {name!r} that you may see")
    return specs[name]


# No pages of documentation: they would be routes that ask nobody's name.
app = FastAPI(
    title="Fleet",
    dependencies=[Depends(get_user)],
    openapi_url=None,
    docs_url=None,
    redoc_url=None,
)


@app.get("/api/pipelines")
def pipelines(specs: Visible, user: GetUserDep) -> Fleet:
    cards = tuple(_view().card(spec) for _, spec in sorted(specs.items()))
    return Fleet(pipelines=cards, may_operate=tuple(sorted(_allowed(user, specs, "PUT"))))


@app.get("/api/pipelines/{name}")
def pipeline(name: str, specs: Visible, user: GetUserDep) -> Detail:
    spec = _named(specs, name)
    return Detail(page=_view().page(spec), may_operate=name in _allowed(user, {name: spec}, "PUT"))


@app.get("/api/pipelines/{name}/refused")
def refused(name: str, specs: Visible) -> list[Refused]:
    """The newest rows in quarantine."""
    try:
        return _view().refused(_named(specs, name))
    except MillraceError as error:
        raise HTTPException(503, str(error)) from error


@app.get("/api/pipelines/{name}/quality")
def quality(name: str, specs: Visible) -> HTMLResponse:
    """The newest result's page; it holds samples of messages, so nothing in it may run."""
    text = _view().quality_page(_named(specs, name).name)
    if text is None:
        raise HTTPException(404, f"pipeline {name!r} was not judged yet")
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


@app.get("/api/pipelines/{name}/log")
def log(name: str, specs: Visible) -> PlainTextResponse:
    return PlainTextResponse(_log_of(_named(specs, name).runner, name))


def _log_of(runner: str, job_id: str) -> str:
    return "\n".join(_view().log(runner, job_id, _LOG_LINES))


@app.get("/api/jobs")
def jobs(seen: VisibleJobs, user: GetUserDep) -> Jobs:
    cards = tuple(_view().job_card(job) for _, job in sorted(seen.items()))
    return Jobs(jobs=cards, may_operate=tuple(sorted(_allowed_dags(user, _dags_of(seen), "PUT"))))


@app.get("/api/jobs/{name}")
def job(name: str, seen: VisibleJobs, user: GetUserDep) -> JobDetail:
    found = _job_named(seen, name)
    may_operate = name in _allowed_dags(user, _dags_of({name: found}), "PUT")
    return JobDetail(page=_view().job_page(found), may_operate=may_operate)


@app.get("/api/jobs/{name}/log")
def job_log(name: str, seen: VisibleJobs) -> PlainTextResponse:
    return PlainTextResponse(_log_of(_job_named(seen, name).runner, name))


def _job_named(seen: dict[str, Deployment], name: str) -> Deployment:
    if name not in seen:
        raise HTTPException(404, f"there is no job {name!r} that you may see")
    return seen[name]


@app.get("/api/relays")
def relays(specs: Visible) -> dict[str, RelayStatus]:
    """They bring what pipelines read: shown to whoever may see one of these."""
    return _view().relays() if specs else {}


@app.get("/api/incidents")
def incidents(specs: Visible, seen: VisibleJobs) -> tuple[IncidentLine, ...]:
    """The newest, of pipelines and jobs that this user may see."""
    return _view().incidents(specs, seen)


@app.get("/api/incidents/{incident_id}")
def incident(incident_id: str, specs: Visible, seen: VisibleJobs) -> HTMLResponse:
    """Of what this user may see; it holds lines of logs, so nothing in it may run."""
    found = _view().incident(incident_id) if is_named(EventId, incident_id) else None
    if found is None or found[0] not in {*specs, *seen}:
        raise HTTPException(404, f"there is no incident {incident_id!r} that you may see")
    return HTMLResponse(found[1], headers={"Content-Security-Policy": POLICY})


@app.get("/api/sites/{name}")
def site(name: str, specs: Visible) -> SitePage:
    """A site of a pipeline that this user may see."""
    readers = [one for one, spec in specs.items() if spec.reads(name)]
    # A name of a path may be anything; a site that some pipeline reads is a file's.
    page = _view().site_page(name, readers) if readers and is_named(Name, name) else None
    if page is None:
        raise HTTPException(404, f"there is no site {name!r} that you may see")
    return page


@app.get("/fleet.js")
def script() -> Response:
    return Response(_SCRIPT.read_text(), media_type="text/javascript")
