"""`millrace incident`: a trial of the whole way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import print_line
from millrace.incidents.core.event import EventKind, make_event
from millrace.incidents.io.outbox import tell
from millrace.platform.io.environment import platform_here
from millrace.tasks.io.task_pipelines import find_pipeline


def incident(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    text: Annotated[str, typer.Argument(help="What happened, in a sentence.")] = "A trial.",
) -> None:
    """Raise a trial incident, to see whether it reaches who is on call.

    It goes the way of every other: over the topic of platform events to the DAG `incident`.

    Example: millrace incident temperature "A trial, no need to get up"
    """
    layout = platform_here()
    pipeline = find_pipeline(layout, name)
    if layout.events_site is None:
        raise MillraceError(
            f"no site carries platform events; write events_site into {layout.local_settings}"
        )
    event = make_event(EventKind.TRIAL, pipeline.name, datetime.now(UTC), text)
    tell(layout, [event])
    print_line(f"{event.id}: on its way; see the DAG incident")
