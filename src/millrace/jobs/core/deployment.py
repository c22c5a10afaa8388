"""What is to run of one job, as its files say it."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod

from millrace.base.model import Frozen
from millrace.jobs.core.spec import JobSpec
from millrace.pipelines.core.spec import REMOTE_RUNNERS, Supervise
from millrace.platform.core.platform import Platform
from millrace.storage.core.bucket import Bucket


class Deployment(Frozen, ABC):
    """Each kind has its own: the files of one job, read and found to be right."""

    kind: str
    # None: a folder. Another place has no tables before they are provisioned there.
    bucket: Bucket | None = None

    @property
    @abstractmethod
    def id(self) -> str:
        """The job's."""

    @property
    @abstractmethod
    def runner(self) -> str: ...

    @property
    @abstractmethod
    def supervise(self) -> Supervise: ...

    @abstractmethod
    def job(self, layout: Platform) -> JobSpec:
        """With the paths of the machine that will run it."""

    @property
    def is_remote(self) -> bool:
        return self.runner in REMOTE_RUNNERS

    @property
    def digest(self) -> str:
        """Changes with the place and every value in the files, also those no job ever sees."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]
