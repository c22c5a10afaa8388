"""`millrace gateway` alone, for a machine that has nothing else of Millrace."""

from __future__ import annotations

import sys

from millrace.base.errors import MillraceError
from millrace.gateway.cli import app

if __name__ == "__main__":
    try:
        app()
    except MillraceError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
