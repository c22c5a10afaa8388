"""A platform event: something that went wrong and that a person should hear of, once."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import ValidationError

from millrace.base.model import Frozen
from millrace.base.names import EventId, Name, TopicName
from millrace.base.ranges import Range
from millrace.jobs.core.task_spec import folder_name
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.replay_spec import Origin


class EventKind(StrEnum):
    QUALITY_FAILED = "quality failed"
    GAP_FOUND = "gap found"
    SITE_SILENT = "site silent"
    SITE_HALTED = "site halted"
    CRASH_LOOPING = "job crash-looping"
    GIVEN_UP = "job given up"
    # Of these two, `pipeline` is the relay.
    RELAY_HALTED = "relay halted"
    RELAY_RENEWED = "relay topic anew"
    TOPIC_ANEW = "topic made anew"
    DAYS_HELD = "days held back"
    # Of a kind of its own, or it would hide what is real in its page.
    TRIAL = "trial"

    @property
    def slug(self) -> str:
        return self.replace(" ", "-")


class Gap(Frozen):
    """Offsets of one partition that a replay from `source` would bring."""

    site: Name
    topic: TopicName
    partition: int
    span: Range
    source: Origin = "kafka"

    @property
    def part(self) -> Part:
        return Part(self.site, self.topic, self.partition)


class Event(Frozen):
    """The same occurrence has the same id, however often it is delivered."""

    # The name of a file, and it comes by way of a topic.
    id: EventId
    at: datetime
    kind: EventKind
    # Or the id of a job of another kind than ingest, or a relay.
    pipeline: Name
    site: Name | None = None
    text: str
    gaps: tuple[Gap, ...] = ()


def make_event(
    kind: EventKind,
    pipeline: str,
    at: datetime,
    text: str,
    site: str | None = None,
    gaps: tuple[Gap, ...] = (),
) -> Event:
    """Ids in order are events in order; they are names of files too."""
    name = "-".join(filter(None, (kind.slug, pipeline, site)))
    return Event(
        id=folder_name(name, at),
        at=at,
        kind=kind,
        pipeline=pipeline,
        site=site,
        text=text,
        gaps=gaps,
    )


def read_event(text: str | bytes) -> Event | None:
    """None for what is no event, or one of another version of Millrace."""
    try:
        return Event.model_validate_json(text)
    except ValidationError:
        return None
