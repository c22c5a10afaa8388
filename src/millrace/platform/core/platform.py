"""One installation: its paths, and what its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from millrace.schemas.core.registry import Registry
from millrace.settings.core.engine import EngineParts, Tables
from millrace.settings.core.history import HISTORY
from millrace.settings.core.metrics import Metrics
from millrace.settings.core.paths import Paths
from millrace.settings.core.remotes import Remotes
from millrace.settings.core.spark_cluster import Cluster
from millrace.settings.core.task_pool import POOL
from millrace.sites.core.central import Central
from millrace.storage.core.bucket import Bucket


@dataclass(frozen=True)
class Platform(Paths):
    """Code that needs no more than paths takes `Paths`; this adds the store and the settings."""

    # Where tables and checkpoints are; none: in folders below `var`.
    bucket: Bucket | None = None
    # Where Spark's work is done; none: in each job's own process.
    cluster: Cluster | None = None
    # What jobs read topics and write tables with.
    engine: EngineParts = field(default_factory=EngineParts)
    # Where jobs read what relays brought; none: at each site.
    central: Central | None = None
    # Where jobs tell how they do, for alarms; none: in heartbeats alone.
    metrics: Metrics | None = None
    # Of Airflow: how many tasks may run at once.
    task_pool: str = POOL
    # How long Airflow remembers runs, and their logs are kept.
    history: timedelta = HISTORY
    # The schema registry on this machine; none: schemas are files alone.
    registry: Registry | None = None
    # Where jobs may run but on this machine.
    remotes: Remotes = field(default_factory=Remotes)
    # The site whose cluster carries platform events; none: nobody is told of any.
    events_site: str | None = None
    # Holds the address that incidents are posted to; none: they are on their page alone.
    webhook_file: Path | None = None

    @property
    def lake(self) -> str:
        return f"{self._data}/lake"

    def table(self, layer: str, table: str) -> str:
        return f"{self.lake}/{layer}/{table}"

    def tables(self, table: str) -> Tables:
        layers = {layer: self.table(layer, table) for layer in Tables.model_fields}
        return Tables(**layers)

    def checkpoints(self, job_id: str) -> str:
        return f"{self._data}/checkpoints/{job_id}"

    def checkpoint(self, pipeline: str, site: str) -> str:
        return f"{self.checkpoints(pipeline)}/{site}"

    def generations(self, job_id: str) -> str:
        return f"{self.checkpoints(job_id)}/generations"

    @property
    def _data(self) -> str:
        return self.bucket.uri if self.bucket else str(self.var)

    def mailbox(self, job_id: str, *, is_remote: bool) -> str:
        """By which a job and those who watch it talk: where both can reach it."""
        is_shared = self.bucket and is_remote
        return self.shared_mailbox(job_id) if is_shared else str(self.job(job_id))

    def shared_mailbox(self, job_id: str) -> str:
        return f"{self._data}/jobs/{job_id}"
