"""What may be a name.

Names become topics, folders, files, keys in a bucket, process names and DAG ids, and many come from
outside: from a form, a command line, an address, a message, a registry. So a name is matched whole
against what is allowed, which is ASCII, short, and never a way out of a folder.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, TypeAdapter, ValidationError

from millrace.base.errors import MillraceError

_PLAIN = "[A-Za-z0-9._-]"
# The same for people.
LETTERS = "letters, digits, '.', '_' and '-'"


def refuse_dots(text: str) -> str:
    """Also as a part of a path they mean another folder, and no topic may be called so."""
    if {".", ".."} & set(text.split("/")):
        raise ValueError(f"{text!r}: '.' and '..' are folders, and no names")
    return text


# Of a site, a pipeline, a relay, an input, a rule: plain in all that it becomes.
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", min_length=1, max_length=48)]
TableName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", min_length=1, max_length=48)
]
# Also what follows the id in the name of a schema's file.
TopicName = Annotated[
    str,
    StringConstraints(pattern=f"^{_PLAIN}+$", min_length=1, max_length=200),
    AfterValidator(refuse_dots),
]
# Of a device that is given a certificate: a file's name, and what the device calls itself.
IssuedName = Annotated[str, StringConstraints(pattern=f"^[A-Za-z0-9]{_PLAIN}{{0,63}}$")]
# Of an event and its incident: the name of a file and of a folder.
EventId = Annotated[str, StringConstraints(pattern=r"^[0-9T.]+-[a-z0-9-]+$", max_length=200)]
# Of a bucket: folders, with slashes between them.
Prefix = Annotated[
    str,
    StringConstraints(pattern=f"^{_PLAIN}+(/{_PLAIN}+)*$", max_length=200),
    AfterValidator(refuse_dots),
]
# From the checkout.
SuiteFile = Annotated[
    str, StringConstraints(pattern=rf"^expectations/{_PLAIN}+\.json$", max_length=200)
]


def is_named(kind: Any, text: str) -> bool:
    """Whether a text from outside is a name of that kind."""
    try:
        _adapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True


def check_named(kind: Any, text: str, what: str, allowed: str) -> str:
    """The name itself, or an error that says what it is and what is allowed."""
    if not is_named(kind, text):
        shown = text if len(text) <= 100 else f"{text[:100]}..."
        raise MillraceError(f"{what} {shown!r} is no name that can be used; write {allowed}")
    return text


@cache
def _adapter(kind: Any) -> TypeAdapter[str]:
    return TypeAdapter(kind)


_TOPIC_PATTERN = re.compile(r"([a-zA-Z0-9._-]|\{site\}|\{topic\})+")


def check_topic_pattern(text: str) -> str:
    """What a site's topic is called at another cluster."""
    if not _TOPIC_PATTERN.fullmatch(text):
        raise ValueError(
            "write {site}, {topic}, letters, digits, '.', '_' and '-', such as '{site}.{topic}'"
        )
    return text
