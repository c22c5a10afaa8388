"""The address of a webhook, in a file of its own: whoever has it can post there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from millrace.base.errors import MillraceError
from millrace.storage.io.private_file import read_private

_HERE = ("127.0.0.1", "localhost", "::1")
_VISIBLE = re.compile(r"[\x21-\x7e]{1,2000}")


def read_webhook_address(file: Path, key: str, *, may_be_plain: bool = False) -> str:
    """`key` names the file. Every error says what is wrong with it, and never what is in it."""
    try:
        text = read_private(file).strip()
    except UnicodeDecodeError:
        text = ""
    except MillraceError as error:
        raise MillraceError(f"{key}={error}") from None
    scheme, host = _scheme_and_host(text)
    is_sealed = scheme == "https" or (scheme == "http" and (host in _HERE or may_be_plain))
    if not host or not is_sealed:
        raise MillraceError(f"{key}={file} holds no https address; write one line with it")
    return text


def _scheme_and_host(text: str) -> tuple[str, str]:
    if not _VISIBLE.fullmatch(text):
        return "", ""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return "", ""
    return parts.scheme, parts.hostname or ""
