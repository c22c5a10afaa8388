"""What Maven fetched, held against what was pinned. Stdlib only, as the installer is.

A repository can serve a jar and the checksum of that jar; what it served when a person looked is
written down in `infra/jars.sha256`, as `sha256sum` writes it: `<sha256>  <engine>/<file>`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def problems(folder: Path, engine: str, pinned: str) -> list[str]:
    """Of an engine's folder; empty when its files are those that were pinned, and no others."""
    wanted = _wanted(pinned, engine)
    found = {file.name: _sha256(file) for file in _files(folder)}
    return [
        *(f"{name} is not in the list" for name in sorted(found.keys() - wanted.keys())),
        *(f"{name} was not fetched" for name in sorted(wanted.keys() - found.keys())),
        *(
            f"{name} has SHA-256 {found[name]}, and the list says {wanted[name]}"
            for name in sorted(found.keys() & wanted.keys())
            if found[name] != wanted[name]
        ),
    ]


def lines(folder: Path, engine: str) -> list[str]:
    """For the list, of what a person has looked at."""
    return [f"{_sha256(file)}  {engine}/{file.name}" for file in _files(folder)]


def _files(folder: Path) -> list[Path]:
    """But for the installer's own mark."""
    found = (file for file in folder.iterdir() if file.is_file() and file.name != ".stamp")
    return sorted(found)


def _wanted(pinned: str, engine: str) -> dict[str, str]:
    pairs = (line.split("  ", 1) for line in pinned.splitlines() if line)
    prefix = f"{engine}/"
    return {name.removeprefix(prefix): digest for digest, name in pairs if name.startswith(prefix)}


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
