"""Tokens of an HTTPS server, in a file (0600), a line each; read anew when the file changes."""

from __future__ import annotations

import base64
import hmac
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.storage.io.files import mtime_ns
from millrace.storage.io.private_file import read_private


class Tokens:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_ns = -1
        self._tokens: list[bytes] = []
        self.renew()

    def renew(self) -> None:
        now_ns = mtime_ns(self._file)
        if now_ns == self._read_ns:
            return
        lines = read_private(self._file).encode().split()
        if not lines:
            raise MillraceError(f"{self._file}: it has no token; write one, a line each")
        self._tokens, self._read_ns = lines, now_ns

    def admit(self, authorization: str | None) -> bool:
        """`Bearer <token>`, or `Basic` with the token as the password of any user."""
        shown = shown_in(authorization)
        found = False
        for token in self._tokens:  # all of them, so that time tells nothing
            found |= hmac.compare_digest(shown, token)
        return found


def shown_in(authorization: str | None) -> bytes:
    """The token of a request's header, good or not; empty where it has none."""
    kind, _, word = (authorization or "").partition(" ")
    if kind.lower() == "bearer":
        # aiohttp hands over bytes that are no UTF-8 as surrogates.
        return word.strip().encode(errors="surrogateescape")
    if kind.lower() != "basic":
        return b""
    try:
        return base64.b64decode(word, validate=True).partition(b":")[2]
    except ValueError:
        return b""
