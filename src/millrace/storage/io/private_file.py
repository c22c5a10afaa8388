"""Files that hold a secret."""

from __future__ import annotations

from pathlib import Path

from millrace.base.errors import MillraceError


def read_private(file: Path) -> str:
    try:
        text = file.read_text()
    except OSError as error:
        raise MillraceError(f"{file}: {error.strerror}") from error
    if file.stat().st_mode & 0o077:
        raise MillraceError(f"{file}: others may read it; chmod 600 {file}")
    return text
