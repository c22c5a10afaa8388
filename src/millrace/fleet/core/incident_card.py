"""What the Fleet page says of an incident, in one line."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from itertools import islice

from millrace.base.hidden import hidden
from millrace.base.model import Frozen
from millrace.incidents.core.incident import Incident

_SHOWN = 20


class IncidentLine(Frozen):
    id: str
    kind: str
    # Of a pipeline, or of a job of another kind.
    pipeline: str
    is_pipeline: bool
    sites: tuple[str, ...]
    at: datetime
    # More than one: a storm, on one page.
    events: int
    text: str
    # Of the DAG `incident`.
    run: str


def list_incidents(
    newest_first: Iterable[Incident], pipelines: Container[str], jobs: Container[str] = ()
) -> tuple[IncidentLine, ...]:
    """The newest of these pipelines and jobs; `newest_first` is read no further than that."""
    seen = (one for one in newest_first if one.pipeline in pipelines or one.pipeline in jobs)
    return tuple(_line(one, is_pipeline=one.pipeline in pipelines) for one in islice(seen, _SHOWN))


def _line(incident: Incident, *, is_pipeline: bool) -> IncidentLine:
    return IncidentLine(
        id=incident.id,
        kind=incident.kind,
        pipeline=incident.pipeline,
        is_pipeline=is_pipeline,
        sites=tuple(sorted({event.site for event in incident.events if event.site})),
        at=incident.began,
        events=len(incident.events),
        text=hidden(incident.first.text),
        run=incident.run,
    )
