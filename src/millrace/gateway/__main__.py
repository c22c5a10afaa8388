"""`millrace gateway` alone, for a machine that has nothing else of Millrace."""

from __future__ import annotations

import sys

from millrace.cli.gateway import app
from millrace.core.errors import MillraceError

if __name__ == "__main__":
    try:
        app()
    except MillraceError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
