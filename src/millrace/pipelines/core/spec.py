"""A pipeline: one small file from which topics, tables, job and DAG are made."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from millrace.base.duration import Duration
from millrace.base.model import Frozen
from millrace.base.names import Name, SuiteFile, TableName, TopicName
from millrace.base.size import Size
from millrace.lake.core.columns import ColumnName, ColumnSpec, check_columns


def _refuse_fast_freshness(span: timedelta) -> timedelta:
    if span < timedelta(milliseconds=100):
        raise ValueError("below 100 milliseconds a batch costs more than it brings")
    return span


# These start jobs on machines that share nothing with this one but a bucket.
REMOTE_RUNNERS = frozenset({"emr-serverless", "kubernetes"})


class Supervise(Frozen):
    """When a job counts as unwell, and how often it may be started again."""

    max_lag: Duration = timedelta(seconds=60)
    stale_after: Duration = timedelta(seconds=60)
    # Longer than the slowest batch.
    stuck_after: Duration = timedelta(minutes=5)
    # None: nobody knows how often messages come.
    silent_after: Duration | None = None
    restarts_per_hour: Annotated[int, Field(ge=0, le=1000)] = 5


class Resources(Frozen):
    """What a job may use."""

    memory: Annotated[str, Field(pattern=r"^[1-9]\d*[mg]$")] = "768m"
    rows_per_batch: Annotated[int, Field(ge=1)] = 2_000_000
    bytes_per_batch: Annotated[Size, Field(ge=1 << 20)] = 1 << 30


class Keep(Frozen):
    """How long rows stay; whole days go. Not named: for ever."""

    bronze: Duration | None = None
    silver: Duration | None = None
    quarantine: Duration | None = None


class PipelineSpec(Frozen):
    """What stands in `dags/pipelines/<name>.yaml`."""

    name: Name
    sites: Annotated[tuple[Name, ...], Field(min_length=1)] | Literal["all"]
    topics: Annotated[tuple[TopicName, ...], Field(min_length=1)]
    format: Literal["avro", "json"]
    table: TableName
    freshness: Annotated[Duration, AfterValidator(_refuse_fast_freshness)] = timedelta(seconds=2)
    partitions: Annotated[int, Field(ge=1, le=1000)] = 2
    columns: dict[ColumnName, ColumnSpec] = Field(default_factory=dict)
    event_time: ColumnName | None = None
    quality: SuiteFile | None = None
    quality_every: Duration = timedelta(minutes=15)
    keep: Keep = Keep()
    supervise: Supervise = Supervise()
    resources: Resources = Resources()
    runner: Name = "local"

    @model_validator(mode="after")
    def _check_columns(self) -> PipelineSpec:
        check_columns(self.columns, self.event_time, self.quality)
        return self

    def reads(self, site: str) -> bool:
        return self.sites == "all" or site in self.sites

    @property
    def is_remote(self) -> bool:
        return self.runner in REMOTE_RUNNERS

    @property
    def dag_id(self) -> str:
        return dag_id_of(self.name)


def dag_id_of(pipeline: str) -> str:
    """Of the DAG that keeps a pipeline's job, also where its file cannot be read."""
    return f"pipeline.{pipeline}"
