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
    pipeline: str
    sites: tuple[str, ...]
    at: datetime
    # More than one: a storm, on one page.
    events: int
    text: str
    # Of the DAG `incident`.
    run: str


def list_incidents(
    newest_first: Iterable[Incident], pipelines: Container[str]
) -> tuple[IncidentLine, ...]:
    """The newest of these pipelines; `newest_first` is read no further than that."""
    seen = (one for one in newest_first if one.pipeline in pipelines)
    return tuple(_line(one) for one in islice(seen, _SHOWN))


def _line(incident: Incident) -> IncidentLine:
    return IncidentLine(
        id=incident.id,
        kind=incident.kind,
        pipeline=incident.pipeline,
        sites=tuple(sorted({event.site for event in incident.events if event.site})),
        at=incident.began,
        events=len(incident.events),
        text=hidden(incident.first.text),
        run=incident.run,
    )
