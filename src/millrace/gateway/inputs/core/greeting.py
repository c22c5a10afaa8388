"""How a device names itself, and whether it may be called so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_HELLO = re.compile(rb"HELLO ([A-Za-z0-9._:/-]{1,200})")


def name_in(message: bytes) -> str | None:
    """None where the message is no greeting."""
    found = _HELLO.fullmatch(message)
    return found[1].decode() if found else None


def may_be_called(name: str, owner: str) -> bool:
    """Its certificate's owner, or a part of it, such as `cell-4/arm`."""
    return bool(owner) and (name == owner or name.startswith(f"{owner}/"))


def owner_of(certificate: Mapping[str, Any] | None) -> str:
    """The common name of a client's certificate, as Python's ssl has it; empty without one."""
    subject = (certificate or {}).get("subject", ())
    return next((value for part in subject for key, value in part if key == "commonName"), "")
