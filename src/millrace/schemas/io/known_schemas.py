"""Schemas to decode with: the files', and the registry's where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.core.layout import Layout
from millrace.core.registry import User

if TYPE_CHECKING:
    from millrace.edge.avro import Schemas


def load_schemas(layout: Layout) -> Schemas:
    from millrace.edge.avro import Schemas
    from millrace.local.registry import open_client

    if layout.registry is None:
        return Schemas.load(layout.schemas)
    return Schemas.load(layout.schemas, open_client(layout, layout.registry, User.READER).find)
