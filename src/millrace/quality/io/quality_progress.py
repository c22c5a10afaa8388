"""How far a table was checked, and where the newest result lies."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from millrace.quality.core.quality_task import Checked
from millrace.storage.io.files import read_text, write_atomic


def read_checked(folder: Path) -> Checked | None:
    text = read_text(folder / "checked.json")
    return Checked.model_validate_json(text) if text else None


def remember(folder: Path, checked: Checked, result: Path) -> None:
    """`latest` leads to the newest result. A look back at old versions takes nothing back."""
    _point(folder / "latest", result)
    before = read_checked(folder)
    is_further = before is None or before.table_id != checked.table_id
    if is_further or before is None or checked.version > before.version:
        write_atomic(folder / "checked.json", checked.model_dump_json(indent=2))


def _point(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    draft = link.with_name(f".{link.name}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)


def checked_at(folder: Path) -> datetime | None:
    """When the newest rows were judged."""
    try:
        return datetime.fromtimestamp((folder / "checked.json").stat().st_mtime, UTC)
    except FileNotFoundError:
        return None
