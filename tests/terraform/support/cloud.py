"""Terraform and boto3, pointed at the same AWS."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support import wait_until
from tests.terraform.support.policy import Statement
from tests.terraform.support.tool import Terraform

REGION = "eu-central-1"
STATE_BUCKET = "acme-millrace-state"
# A call that AWS on loopback lacks is told at once, not after minutes.
_FEW_RETRIES = 'provider "aws" {\n  max_retries = 5\n}\n'


@dataclass(frozen=True)
class Cloud:
    copy: Path
    environment: dict[str, str]

    @property
    def backend(self) -> Path:
        return self.copy / "terraform" / "environments" / "backend.hcl"

    def terraform(self, folder: str) -> Terraform:
        return Terraform(self.copy / "terraform" / folder, self.environment)

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            # Some names get a part before them, as in api.127.0.0.1, which nobody resolves.
            config=Config(inject_host_prefix=False),
        )

    def bring_up(self, name: str) -> Terraform:
        """Bootstrap, then the environment.

        AWS needs a minute to agree with itself about a bucket's rules, for which nobody else waits.
        """
        with ThreadPoolExecutor(1) as pool:
            bootstrap = pool.submit(self._bootstrap)
            wait_until(lambda: bootstrap.done() or self._has_state_bucket(), 120, "bootstrapped")
            self._tell_backend()
            environment = self.init(name)
            environment("apply", "-auto-approve")
            bootstrap.result()
        return environment

    def init(self, name: str) -> Terraform:
        environment = self.terraform(f"environments/{name}")
        _limit_retries(environment)
        environment.init(f"-backend-config={self.backend}")
        return environment

    def statements(self, role: str) -> list[Statement]:
        """All that the policies of a role say."""
        iam = self.client("iam")
        inline = [
            iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
        ]
        attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
        managed = [self.policy(policy["PolicyArn"]) for policy in attached]
        return [
            statement for document in (*inline, *managed) for statement in document["Statement"]
        ]

    def policy(self, arn: str) -> Any:
        iam = self.client("iam")
        version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        found = iam.get_policy_version(PolicyArn=arn, VersionId=version)
        return found["PolicyVersion"]["Document"]

    def bucket_statements(self, bucket: str) -> list[Statement]:
        policy = self.client("s3").get_bucket_policy(Bucket=bucket)["Policy"]
        statements: list[Statement] = json.loads(policy)["Statement"]
        return statements

    def login(self, secret_arn: str) -> dict[str, str]:
        found = self.client("secretsmanager").get_secret_value(SecretId=secret_arn)
        login: dict[str, str] = json.loads(found["SecretString"])
        return login

    def _bootstrap(self) -> None:
        bootstrap = self.terraform("bootstrap")
        _limit_retries(bootstrap)
        bootstrap.init()
        values = ("-var", f"region={REGION}", "-var", f"bucket={STATE_BUCKET}")
        bootstrap("apply", "-auto-approve", *values)

    def _has_state_bucket(self) -> bool:
        try:
            return bool(self.bucket_statements(STATE_BUCKET))
        except ClientError:
            return False

    def _tell_backend(self) -> None:
        key = self.client("kms").describe_key(KeyId="alias/millrace-state")["KeyMetadata"]["Arn"]
        told = {"bucket    ": STATE_BUCKET, "region    ": REGION, "kms_key_id": key}
        self.backend.write_text("".join(f'{name} = "{value}"\n' for name, value in told.items()))


def _limit_retries(terraform: Terraform) -> None:
    (terraform.folder / "retries_override.tf").write_text(_FEW_RETRIES)
