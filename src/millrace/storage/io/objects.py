"""Small files at one place, which is a folder or a part of a bucket."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from millrace.storage.core.bucket import SCHEME, Bucket
from millrace.storage.io.files import read_text, write_atomic, write_new


class Objects(Protocol):
    """Names are relative to the place, with slashes."""

    def names(self, folder: str = "") -> list[str]:
        """Of the files right below; none where there is no such folder."""

    def read(self, name: str) -> str | None:
        """None where there is no such file."""

    def read_bytes(self, name: str) -> bytes | None: ...

    def modified_at(self, name: str) -> datetime | None: ...

    def put(self, name: str, text: str) -> None:
        """Whole, in place of what is there."""

    def put_new(self, name: str, text: str) -> bool:
        """Whole, and only where nothing is; False when somebody else was first.

        The text must be nobody else's, or a lost answer could not be told from a lost race.
        """

    def delete(self, names: Iterable[str]) -> None: ...


def objects_at(place: str | Path, bucket: Bucket | None) -> Objects:
    """Where there is a bucket, some places are folders still."""
    if bucket is None or not str(place).startswith(SCHEME):
        return FolderObjects(Path(place))
    # Slow to import, and whoever works with folders does not need it.
    from millrace.storage.io.bucket_objects import BucketObjects

    return BucketObjects.at(str(place), bucket)


@dataclass(frozen=True)
class FolderObjects:
    root: Path

    def names(self, folder: str = "") -> list[str]:
        place = self.root / folder
        return [file.name for file in place.iterdir()] if place.is_dir() else []

    def read(self, name: str) -> str | None:
        return read_text(self.root / name)

    def read_bytes(self, name: str) -> bytes | None:
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def modified_at(self, name: str) -> datetime | None:
        try:
            return datetime.fromtimestamp((self.root / name).stat().st_mtime, UTC)
        except FileNotFoundError:
            return None

    def put(self, name: str, text: str) -> None:
        write_atomic(self.root / name, text)

    def put_new(self, name: str, text: str) -> bool:
        return write_new(self.root / name, text)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            (self.root / name).unlink(missing_ok=True)
