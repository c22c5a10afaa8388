"""What a job tells a service that raises alarms. Who says nothing there counts as unwell."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from millrace.base.model import Frozen
from millrace.jobs.core.heartbeat import Heartbeat

# Of alarms a minute is the finest grain, and each call is paid for.
EVERY_S = 60.0
DIMENSION = "pipeline"


class Metrics(Frozen):
    """`metrics` in `infra/local.yaml`: AWS's CloudWatch."""

    namespace: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9./_-]{0,254}$")] = "Millrace"
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]


def measures(beat: Heartbeat, now: datetime) -> dict[str, float]:
    """How long the oldest message waits, and while any does, how old the last batch is.

    A halted site counts for itself: its messages wait until a person has mended something there.
    """
    last = beat.last_batch_at
    waits = beat.lag_records > 0 and last is not None
    return {
        "lag_s": beat.lag_s(now),
        "batch_age_s": max(0.0, (now - last).total_seconds()) if waits and last else 0.0,
        "halted_sites": float(len(beat.halts)),
    }
