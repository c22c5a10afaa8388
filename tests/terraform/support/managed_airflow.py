"""What MWAA makes of its bucket: dags, plugins and a startup script, for an Airflow 3.0.6."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.terraform.conftest import CHECKOUT
from tests.terraform.support.cloud import Cloud

PYTHON = CHECKOUT / ".venv-mwaa" / "bin" / "python"
_LIMIT_S = 180
_PLAIN = ("PATH", "LANG")


@dataclass(frozen=True)
class ManagedAirflow:
    home: Path
    cloud: Cloud

    @classmethod
    def made(cls, home: Path, cloud: Cloud, name: str) -> ManagedAirflow:
        environment = cloud.client("mwaa").get_environment(Name=name)["Environment"]
        bucket = environment["SourceBucketArn"].rpartition(":")[2]
        airflow = cls(home, cloud)
        airflow._synchronize(bucket, environment["DagS3Path"])
        plugins = airflow._read(bucket, environment["PluginsS3Path"])
        zipfile.ZipFile(io.BytesIO(plugins)).extractall(home / "plugins")
        (home / "startup.sh").write_bytes(airflow._read(bucket, environment["StartupScriptS3Path"]))
        (home / "requirements.txt").write_bytes(
            airflow._read(bucket, environment["RequirementsS3Path"])
        )
        return airflow

    def ask(self, code: str) -> Any:
        """What a process of Airflow prints last, as JSON; it sees nothing of the checkout."""
        environment = {
            **{name: os.environ[name] for name in _PLAIN if name in os.environ},
            **{key: v for key, v in self.cloud.environment.items() if key.startswith("AWS_")},
            "HOME": str(self.home),
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db",
        }
        command = f'. "{self.home}/startup.sh" && exec "$0" -c "$1"'
        done = subprocess.run(
            ["sh", "-c", command, str(PYTHON), f"import airflow.settings\n{code}"],  # noqa: S607
            cwd=self.home,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
        return json.loads(done.stdout.strip().splitlines()[-1])

    def _synchronize(self, bucket: str, prefix: str) -> None:
        pages = self.cloud.client("s3").get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=f"{prefix}/"):
            for one in page["Contents"]:
                file = self.home / "dags" / one["Key"].removeprefix(f"{prefix}/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(self._read(bucket, one["Key"]))

    def _read(self, bucket: str, key: str) -> bytes:
        body = self.cloud.client("s3").get_object(Bucket=bucket, Key=key)["Body"]
        content: bytes = body.read()
        return content
