"""A kind of job: what supervision, DAGs and pages have to ask, as it differs between kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.platform.core.platform import Platform

D = TypeVar("D", bound=Deployment)


class Kind(Protocol[D]):
    """One small module for each kind. No two jobs have the same id, whatever their kinds."""

    @property
    def deployment(self) -> type[D]:
        """The class of what is deployed; it plans the job, and so names its entry point."""

    @property
    def beat(self) -> type[Heartbeat]:
        """The class of the job's heartbeat."""

    def read(self, layout: Platform, job_id: str) -> D:
        """As its files are now. Raises MillraceError for what is wrong in them."""

    def files(self, layout: Platform, job_id: str) -> list[Path]:
        """Every file that may have a part in how the job is deployed."""

    def provision(self, deployment: D, layout: Platform, *, last_try: bool) -> list[str]:
        """Make what the job needs before it starts; every difference that was made, in words.

        Raises TransientError for what may pass, unless this is the last try and the job can go on.
        """

    def dag_id(self, job_id: str) -> str:
        """Of the DAG that keeps the job."""
