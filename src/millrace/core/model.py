"""The one base of every value that is read from a file or written to one."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class Frozen(BaseModel):
    """Immutable, and strict about names: a misspelt key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# Names become topics, folders, process names and DAG ids, so they are plain in all of them.
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", min_length=1, max_length=48)]
TableName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", min_length=1, max_length=48)
]
TopicName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]+$", min_length=1, max_length=200)
]
