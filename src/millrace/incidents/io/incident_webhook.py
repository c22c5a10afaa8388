"""Posts an incident to an address that is itself a secret: whoever has it can post there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx

from millrace.base.errors import MillraceError, TransientError
from millrace.storage.io.webhook_address import read_webhook_address

# At its usual level it writes the address of each request.
logging.getLogger("httpx").setLevel(logging.WARNING)

_TIMEOUT_S = 10.0
_MAY_PASS = (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS)


def read_address(file: Path) -> httpx.URL:
    """Every error says what is wrong with the file, and never what is in it."""
    text = read_webhook_address(file, "webhook_file")
    try:
        return httpx.URL(text)
    except httpx.InvalidURL:
        raise MillraceError(f"webhook_file={file} holds no address that can be used") from None


def post(address: httpx.URL, payload: dict[str, Any]) -> None:
    """Raises TransientError for what may pass."""
    try:
        answer = httpx.post(address, json=payload, timeout=_TIMEOUT_S, follow_redirects=False)
    except httpx.HTTPError as error:
        # Its text, and that of its cause, may hold the address.
        raise TransientError(f"{address.host} did not take it: {type(error).__name__}") from None
    if answer.is_server_error or answer.status_code in _MAY_PASS:
        raise TransientError(f"{address.host} did not take it: {answer.status_code}")
    if not answer.is_success:
        raise MillraceError(f"{address.host} refused it: {answer.status_code}; see its address")
