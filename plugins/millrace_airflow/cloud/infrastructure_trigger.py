"""Waits for Terraform, without a worker."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any

from millrace.cloud.io.environment_run import Infrastructure
from millrace.cloud.io.terraform_run import TerraformRun
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.serialized import serialized
from millrace_airflow.base.stopping_trigger import StoppingTrigger

log = logging.getLogger(__name__)

POLL_S = 1.0


class InfrastructureTrigger(StoppingTrigger):
    """Marking the task failed (or clearing it) asks Terraform to stop, once."""

    def __init__(self, environment: str, run_id: str, step: str, poll_s: float = POLL_S) -> None:
        super().__init__(poll_s)
        self.environment = environment
        self.run_id = run_id
        self.step = step

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return serialized(self, "environment", "run_id", "step", "poll_s")

    def see(self) -> dict[str, Any] | None:
        ended = self._run.look()
        return ended.model_dump() if ended else None

    def stop(self) -> None:
        if self._run.ask_to_stop():
            log.info("terraform finishes what it has begun, and ends; its log: %s", self._run.log)

    @cached_property
    def _run(self) -> TerraformRun:
        return Infrastructure(platform_here(), self.environment, self.run_id).step(self.step)
