"""To which topic a message goes, and under which key, as a gateway's file says it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millrace.base.model import Frozen
from millrace.base.names import TopicName
from millrace.gateway.routes.core.field_paths import FieldPath


class FromField(Frozen):
    """The value of a field of a JSON message."""

    field: FieldPath


class AmongField(FromField):
    """As told by a field; what it names otherwise is a dead letter."""

    among: Annotated[tuple[TopicName, ...], Field(min_length=1)]


class Before(Frozen):
    """What stands before the first of these characters; the message is what stands behind it."""

    before: Annotated[str, Field(min_length=1, max_length=8)]


class FromLevel(Frozen):
    """A level of the MQTT topic that a message came by, counted from 1."""

    level: Annotated[int, Field(ge=1, le=128)]


TopicRule = TopicName | AmongField
KeyRule = FromField | Before | FromLevel | None
