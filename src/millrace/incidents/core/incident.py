"""An incident: events that one person looks into at one time, and so one page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from millrace.base.model import Frozen
from millrace.incidents.core.event import Event, EventKind, Gap
from millrace.repair.core.replay_form import ReplayForm

# Events of one kind and pipeline that begin within it are one incident, so a storm is at most four
# pages an hour for each; it ends by itself, so what lasts is told again.
WINDOW = timedelta(minutes=15)
# More than can be within the hours that events are looked back for.
_REMEMBERED = 2_000


class Incident(Frozen):
    """Has the id of its first event."""

    events: tuple[Event, ...]
    # The run that brings it to a page.
    run: str = ""

    @property
    def first(self) -> Event:
        return self.events[0]

    @property
    def id(self) -> str:
        return self.first.id

    @property
    def kind(self) -> EventKind:
        return self.first.kind

    @property
    def pipeline(self) -> str:
        return self.first.pipeline

    @property
    def began(self) -> datetime:
        return self.first.at

    @property
    def title(self) -> str:
        return f"{self.kind}: {self.pipeline}"

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return tuple(dict.fromkeys(gap for event in self.events for gap in event.gaps))

    def takes(self, event: Event) -> bool:
        is_alike = (event.kind, event.pipeline) == (self.kind, self.pipeline)
        return is_alike and abs(event.at - self.began) < WINDOW

    def has(self, event: Event) -> bool:
        return any(event.id == one.id for one in self.events)

    def and_event(self, event: Event) -> Incident:
        return self.model_copy(update={"events": (*self.events, event)})


def gather(
    known: Iterable[Incident], events: Iterable[Event], run: str = ""
) -> tuple[Incident, ...]:
    """The incidents that are new, or grew, in the order of their ids. A doubled event is none."""
    incidents = {one.id: one for one in known}
    touched: set[str] = set()
    for event in sorted(events, key=lambda one: one.id):
        if any(one.has(event) for one in incidents.values()):
            continue
        home = next((one for one in incidents.values() if one.takes(event)), None)
        grown = home.and_event(event) if home else Incident(events=(event,), run=run)
        incidents[grown.id] = grown
        touched.add(grown.id)
    return tuple(incidents[one] for one in sorted(touched))


def forgotten(ids: Iterable[str]) -> list[str]:
    """Incidents that are old enough to go."""
    return sorted(ids)[:-_REMEMBERED]


def offered_replay(pipeline: str, gaps: tuple[Gap, ...]) -> ReplayForm | None:
    """The form of a replay, filled in; None where a replay would bring nothing.

    One gap is asked for by its offsets. The form has room for one span, so for several it names
    their partitions without one: a replay adds only what is missing, wherever that is.
    """
    if not gaps:
        return None
    one = gaps[0].span if len({gap.part for gap in gaps}) == len(gaps) == 1 else None
    is_refined_alone = all(gap.source == "bronze" for gap in gaps)
    return ReplayForm(
        pipeline=pipeline,
        source="bronze" if is_refined_alone else "kafka",
        sites=tuple(sorted({gap.site for gap in gaps})),
        topics=tuple(sorted({gap.topic for gap in gaps})),
        partitions=tuple(sorted({gap.partition for gap in gaps})),
        first_offset=one.first if one else None,
        last_offset=one.last if one else None,
    )
