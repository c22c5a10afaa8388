"""Jobs of any kind: as read from their files, or as they were last good.

What was provisioned is remembered beside the job. So all tasks of a run mean the same, and a file
that an operator breaks takes nothing away from a job that runs.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from millrace.base.errors import MillraceError
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.io.installed_kinds import find_kind, load_kind
from millrace.platform.core.platform import Platform
from millrace.storage.io.files import read_text, write_atomic

log = logging.getLogger(__name__)

_FILE = "deployment.json"
Form = TypeVar("Form", bound=Deployment)


def provision(deployment: Deployment, layout: Platform, *, last_try: bool) -> list[str]:
    """Make what the job needs, and remember what it was made for."""
    before = recall(layout, deployment.id)
    if before and before.kind != deployment.kind:
        raise MillraceError(
            f"{deployment.kind} {deployment.id!r}: a job of kind {before.kind!r} has this name, and"
            " both would write into one checkpoint; give this job another name, or, if that one is"
            f" retired and stopped, remove {layout.job(deployment.id)}"
        )
    changes = load_kind(deployment.kind).provision(deployment, layout, last_try=last_try)
    remember(layout, deployment)
    return changes


def remember(layout: Platform, deployment: Deployment) -> None:
    write_atomic(deployment_file(layout, deployment.id), deployment.model_dump_json(indent=2))


def recall_as(form: type[Form], layout: Platform, job_id: str) -> Form | None:
    """What was provisioned last; None also for a file of another kind or version of Millrace."""
    text = read_text(deployment_file(layout, job_id))
    try:
        return form.model_validate_json(text) if text else None
    except ValidationError:
        return None


def recall(layout: Platform, job_id: str) -> Deployment | None:
    """The same for a job of whatever kind."""
    text = read_text(deployment_file(layout, job_id))
    kind = find_kind(_kind_in(text or ""))
    if kind is None:
        return None
    form: type[Deployment] = kind.deployment
    return recall_as(form, layout, job_id)


def provisioned_jobs(layout: Platform) -> list[str]:
    """The ids of all that were ever provisioned here, of whatever kind."""
    return sorted(file.parent.name for file in layout.jobs.glob(f"*/{_FILE}"))


def deployment_file(layout: Platform, job_id: str) -> Path:
    return layout.job(job_id) / _FILE


def _kind_in(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    return str(found.get("kind", "")) if isinstance(found, dict) else ""


def read_or_recall(layout: Platform, kind: str, job_id: str) -> Deployment:
    try:
        now: Deployment = load_kind(kind).read(layout, job_id)
    except MillraceError as error:
        last_good = recall(layout, job_id)
        if last_good is None:
            raise
        log.warning("the files as they were last good stay in force, because %s", error)
        return last_good.model_copy(update={"bucket": layout.bucket})
    return now
