"""What a gateway that does not run has left to deliver."""

from __future__ import annotations

from pathlib import Path

from millrace.core.gateway.spec import EVENTS, GatewaySpec
from millrace.edge.gateway.progress_file import ProgressFile
from millrace.edge.gateway.spool import Spool


def count_waiting(spec: GatewaySpec) -> dict[str, int]:
    bounds = {one.name: one.spool.bounds for one in spec.inputs}
    folders = {name: spec.data / name for name in (*bounds, EVENTS)}
    any_bounds = next(iter(bounds.values()))
    return {
        name: _waiting(folder, Spool(folder / "spool", bounds.get(name, any_bounds)))
        for name, folder in folders.items()
        if (folder / "spool").is_dir()
    }


def _waiting(folder: Path, spool: Spool) -> int:
    progress = ProgressFile(folder / "progress")
    try:
        return max(0, spool.next_index - max(progress.read().base, spool.first_index))
    finally:
        progress.close()
        spool.close()
