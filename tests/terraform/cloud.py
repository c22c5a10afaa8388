"""Terraform and boto3, pointed at the same AWS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from tests.terraform.tool import Terraform

STATE_BUCKET = "acme-millrace-state"
# A call that AWS on loopback lacks is told at once, not after minutes.
_FEW_RETRIES = 'provider "aws" {\n  max_retries = 5\n}\n'


@dataclass(frozen=True)
class Cloud:
    copy: Path
    environment: dict[str, str]

    def terraform(self, folder: str) -> Terraform:
        return Terraform(self.copy / "terraform" / folder, self.environment)

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_REGION"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def bring_up(self, name: str) -> Terraform:
        """As the README says: bootstrap, then the environment."""
        backend = self._bootstrap()
        environment = self.environment_of(name, backend)
        environment("apply", "-auto-approve")
        return environment

    def _bootstrap(self) -> Path:
        bootstrap = self.terraform("bootstrap")
        region = self.environment["AWS_REGION"]
        _limit_retries(bootstrap)
        bootstrap.init()
        values = ("-var", f"region={region}", "-var", f"bucket={STATE_BUCKET}")
        bootstrap("apply", "-auto-approve", *values)
        backend = self.copy / "terraform" / "environments" / "backend.hcl"
        backend.write_text(bootstrap("output", "-raw", "backend"))
        return backend

    def environment_of(self, name: str, backend: Path) -> Terraform:
        environment = self.terraform(f"environments/{name}")
        _limit_retries(environment)
        environment.init(f"-backend-config={backend}")
        return environment


def _limit_retries(terraform: Terraform) -> None:
    (terraform.folder / "retries_override.tf").write_text(_FEW_RETRIES)
