"""Asks a part by HTTPS how it does. Stdlib only, so that a container can ask often.

python -m millrace.stack.io.answers URL CA [TOKEN_FILE | =PART]
"""

from __future__ import annotations

import json
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any

_TIMEOUT_S = 5


def ask(url: str, ca: Path, token: str = "") -> dict[str, Any] | None:
    """None: no answer, or not a good one."""
    context = ssl.create_default_context(cafile=str(ca))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    question = urllib.request.Request(url, headers=headers)  # noqa: S310 - addresses are our own
    try:
        with urllib.request.urlopen(question, context=context, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
            said: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return None
    return said


def is_healthy(parts: dict[str, Any] | None, part: str) -> bool:
    return bool(((parts or {}).get(part) or {}).get("status") == "healthy")


def main(url: str, ca: str, how: str = "") -> int:
    if how.startswith("="):
        return 0 if is_healthy(ask(url, Path(ca)), how[1:]) else 1
    token = Path(how).read_text().strip() if how else ""
    return 1 if ask(url, Path(ca), token) is None else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
