"""Where programs listen."""

from __future__ import annotations

LOOPBACK = "127.0.0.1"
# By which programs of one machine reach each other.
LOCAL_NAMES = ("localhost", LOOPBACK, "::1")
# Of a machine or container that is one program's own.
EVERYWHERE = "0.0.0.0"  # noqa: S104 - chosen by `apart` in infra/local.yaml, never by default
