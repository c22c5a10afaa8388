"""The one base of every value that is read from a file or written to one."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable, and strict about names: a misspelt key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
