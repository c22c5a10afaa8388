"""What every command shares: the console, and JSON beside every table."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead.")]


def print_json(value: Any) -> None:
    print_line(json.dumps(value, indent=2, default=str))


def print_line(text: str) -> None:
    """One line to whoever reads, at once also through a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show_progress(line: str) -> None:
    sys.stderr.write(line + "\n")
