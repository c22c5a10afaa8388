"""The job that reads topics: what its kind adds to what every job needs."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import ConfigDict

from millrace.base.model import Frozen
from millrace.jobs.core.spec import JobSpec
from millrace.lake.core.refine import RefineSpec
from millrace.settings.core.engine import Tables
from millrace.sites.core.spec import ClientSettings

INGEST: Final = "ingest"


class SiteInput(Frozen):
    """One cluster a job reads: one streaming query, one checkpoint."""

    site: str
    topics: tuple[str, ...]
    # Java client settings; secrets stay in the files these point at.
    kafka: dict[str, str]
    # The same for librdkafka, without user and password.
    librdkafka: ClientSettings
    secret_file: Path
    # A secret of AWS's, which holds the login instead of that file.
    secret: str | None = None
    ca_file: Path
    checkpoint: str


class IngestSpec(JobSpec):
    """Brings topics of sites into the tables of one pipeline, whose name is the job's id."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["ingest"] = INGEST
    noun: Literal["pipeline"] = "pipeline"
    inputs: tuple[SiteInput, ...]
    tables: Tables
    # None: bronze alone.
    refine: RefineSpec | None = None
    trigger_s: float
    # Bounds of each batch of each site.
    rows_per_batch: int
    bytes_per_batch: int
