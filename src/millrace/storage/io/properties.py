"""Properties files, as Kafka's own clients read them: `key=value` lines."""

from __future__ import annotations

from pathlib import Path

from millrace.base.errors import MillraceError


def read_properties(path: Path) -> dict[str, str]:
    try:
        text = path.read_text()
    except OSError as error:
        reason = error.strerror
        raise MillraceError(f"{path}: {reason}; run 'millrace up' to have it made") from error
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
