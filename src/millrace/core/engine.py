"""What a Spark session needs to know, whichever job it serves."""

from __future__ import annotations

from pathlib import Path

from millrace.core.cluster import Cluster
from millrace.core.model import Frozen
from millrace.core.store import Bucket


class EngineSpec(Frozen):
    """Holds no secret: Spark shows its settings to every user of the machine."""

    memory: str
    # Folders of jars.
    class_path: tuple[Path, ...]
    # Where tables and checkpoints are; none: in folders.
    bucket: Bucket | None = None
    # Where the rows are worked on; none: in the job's own process.
    cluster: Cluster | None = None


class Tables(Frozen):
    """The tables of one pipeline, each a folder's path or a URI."""

    bronze: str
    silver: str
    quarantine: str
