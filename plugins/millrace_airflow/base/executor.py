"""Airflow's LocalExecutor, which ends where it could only pretend to go on.

Workers wait for one pipe, and the one in front holds its lock. Killed there (out of memory,
`kill -9`), it takes the lock along: no worker reads again, new ones neither, and the scheduler
queues tasks for ever as if all were well. It is started again within seconds, and tasks that run
outlive it; so it ends.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import psutil
from airflow.executors.local_executor import LocalExecutor

_FAILED = 1


class MortalExecutor(LocalExecutor):
    def _check_workers(self, *args: Any, **kwargs: Any) -> None:
        """Airflow's only look at its workers; it replaces the dead in silence."""
        lost = [pid for pid, worker in self.workers.items() if worker.exitcode]
        if lost:
            self.log.critical("worker %s was killed; starting anew with all others", lost)
            self._kill_idle_workers()
            os._exit(_FAILED)
        super()._check_workers(*args, **kwargs)

    def _kill_idle_workers(self) -> None:
        """They would wait for the lost lock for ever. One with a child has a task to finish."""
        for pid in self.workers:
            with suppress(psutil.NoSuchProcess):
                worker = psutil.Process(pid)
                if not worker.children():
                    worker.kill()
