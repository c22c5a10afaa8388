"""What a gateway has left to deliver: looked at, never touched, whether it runs or not."""

from __future__ import annotations

from pathlib import Path

from millrace.gateway.delivery.io.progress_file import read_progress
from millrace.gateway.spec.core.gateway_file import EVENTS, GatewaySpec
from millrace.gateway.spool.io.recovery import look
from millrace.kafka.core.platform_topics import COMMANDS


def count_waiting(spec: GatewaySpec) -> dict[str, int]:
    """Beside a gateway that runs, each count is of a moment ago."""
    names = (*(one.name for one in spec.inputs), EVENTS, COMMANDS)
    folders = {name: spec.data / name for name in names}
    return {
        name: _waiting(folder) for name, folder in folders.items() if (folder / "spool").is_dir()
    }


def _waiting(folder: Path) -> int:
    held = look(folder / "spool")
    base = read_progress(folder / "progress").base
    return max(0, held.stop - max(base, held.start))
