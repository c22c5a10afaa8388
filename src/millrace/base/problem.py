"""What is wrong with a file beside others, before its line is known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """The `index`th file's key at `path` does not fit the other files."""

    index: int
    path: tuple[str | int, ...]
    text: str
