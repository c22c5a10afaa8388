"""Posts an incident to an address that is itself a secret: whoever has it can post there."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import Any

import httpx

from millrace.core.errors import MillraceError, TransientError

# At its usual level it writes the address of each request.
logging.getLogger("httpx").setLevel(logging.WARNING)

_TIMEOUT_S = 10.0
_HERE = ("127.0.0.1", "localhost", "::1")
_MAY_PASS = (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS)


def read_address(file: Path) -> httpx.URL:
    """Every error says what is wrong with the file, and never what is in it."""
    try:
        text, mode = file.read_text().strip(), stat.S_IMODE(file.stat().st_mode)
    except OSError as error:
        raise MillraceError(
            f"webhook_file={file}: {error.strerror}; write the address there"
        ) from None
    if mode & 0o077:
        raise MillraceError(f"webhook_file={file} may be read by others; run 'chmod 600 {file}'")
    try:
        address = httpx.URL(text)
    except httpx.InvalidURL:
        address = httpx.URL("")
    if not address.host or (address.scheme != "https" and address.host not in _HERE):
        raise MillraceError(f"webhook_file={file} holds no https address; write one line with it")
    return address


def post(address: httpx.URL, payload: dict[str, Any]) -> None:
    """Raises TransientError for what may pass."""
    try:
        answer = httpx.post(address, json=payload, timeout=_TIMEOUT_S)
    except httpx.HTTPError as error:
        # Its text, and that of its cause, may hold the address.
        raise TransientError(f"{address.host} did not take it: {type(error).__name__}") from None
    if answer.is_server_error or answer.status_code in _MAY_PASS:
        raise TransientError(f"{address.host} did not take it: {answer.status_code}")
    if not answer.is_success:
        raise MillraceError(f"{address.host} refused it: {answer.status_code}; see its address")
