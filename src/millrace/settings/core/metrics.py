"""The service that raises alarms, to which jobs send their measures; silence is an alarm too."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millrace.base.model import Frozen

# Of alarms a minute is the finest grain, and each call is paid for.
EVERY_S = 60.0


class Metrics(Frozen):
    """`metrics` in `infra/local.yaml`: AWS's CloudWatch."""

    namespace: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9./_-]{0,254}$")] = "Millrace"
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
