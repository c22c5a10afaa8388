"""A pipeline: one small file from which topics, tables, job and DAG are made."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from millrace.core.duration import Duration
from millrace.core.model import Frozen, Name, TableName, TopicName


def _refuse_fast_freshness(span: timedelta) -> timedelta:
    if span < timedelta(milliseconds=100):
        raise ValueError("below 100 milliseconds a batch costs more than it brings")
    return span


class Supervise(Frozen):
    """When a job counts as unwell, and how often it may be started again."""

    max_lag: Duration = timedelta(seconds=60)
    stale_after: Duration = timedelta(seconds=60)
    restarts_per_hour: Annotated[int, Field(ge=0, le=1000)] = 5


class Resources(Frozen):
    """What a job may use."""

    memory: Annotated[str, Field(pattern=r"^[1-9]\d*[mg]$")] = "768m"
    rows_per_batch: Annotated[int, Field(ge=1)] = 500_000


class PipelineSpec(Frozen):
    """What stands in `dags/pipelines/<name>.yaml`."""

    name: Name
    sites: Annotated[tuple[Name, ...], Field(min_length=1)] | Literal["all"]
    topics: Annotated[tuple[TopicName, ...], Field(min_length=1)]
    format: Literal["avro", "json"]
    table: TableName
    freshness: Annotated[Duration, AfterValidator(_refuse_fast_freshness)] = timedelta(seconds=2)
    partitions: Annotated[int, Field(ge=1, le=1000)] = 2
    supervise: Supervise = Supervise()
    resources: Resources = Resources()
    runner: Name = "local"

    @property
    def dag_id(self) -> str:
        return f"pipeline.{self.name}"
