"""A program of the local stack, as the process manager is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """One supervised process. `priority` orders starts; stops go the other way round."""

    name: str
    command: tuple[str, ...]
    directory: Path
    log: Path
    priority: int
    environment: dict[str, str] = field(default_factory=dict)
    port: int | None = None
    stop_wait_s: int = 30
    stop_signal: str = "TERM"
    autostart: bool = True
    autorestart: bool = True
    # What a crash leaves, which would keep the next start from working.
    stale: tuple[Path, ...] = ()
    # Sockets that it makes outside of the stack's folder, and may leave there when it ends.
    outside: tuple[Path, ...] = ()

    def forget_crash(self) -> None:
        for file in self.stale:
            file.unlink(missing_ok=True)
