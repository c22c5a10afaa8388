"""Schemas to decode with: the files', and the registry's where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.platform.core.platform import Platform
from millrace.schemas.core.registry import User

if TYPE_CHECKING:
    from millrace.schemas.io.avro import Schemas


def load_schemas(layout: Platform) -> Schemas:
    from millrace.schemas.io.avro import Schemas
    from millrace.schemas.io.local_registry import open_client

    if layout.registry is None:
        return Schemas.load(layout.schemas)
    return Schemas.load(layout.schemas, open_client(layout, layout.registry, User.READER).find)
