"""What runners on other machines need to know: where to start jobs, and as whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from millrace.base.model import Frozen

_IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ROLE = r"^arn:aws[a-z-]*:iam::\d{12}:role/\S+$"
HttpsUrl = Annotated[str, StringConstraints(pattern=r"^https://\S+$")]
# Names of Kubernetes' own objects.
ObjectName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")]


class RemoteSettings(Frozen):
    """What every such runner is told."""

    # The checkout of Millrace in the image that the jobs run in.
    home: Path = Path("/opt/millrace")
    executors: Annotated[int, Field(ge=1, le=1000)] = 2
    cores: Annotated[int, Field(ge=1, le=64)] = 1


class EmrServerlessSettings(RemoteSettings):
    """`emr_serverless` in `infra/local.yaml`."""

    application: Annotated[str, StringConstraints(pattern=r"^[0-9a-z]{1,64}$")]
    # What the job may do, such as read and write the bucket.
    role: Annotated[str, StringConstraints(pattern=_ROLE)]
    # Of tasks such as `maintain`, by the name of their file in spark_jobs; none: the same.
    roles: dict[str, Annotated[str, StringConstraints(pattern=_ROLE)]] = Field(default_factory=dict)
    # None: the bucket's.
    region: str | None = None
    # None: AWS's own address for the region.
    endpoint: HttpsUrl | None = None
    # Who signed the endpoint's certificate; none: a public authority.
    ca_file: Path | None = None
    # An AWS credentials file; none: whatever the SDK finds by itself.
    credentials_file: Path | None = None


class KubernetesSettings(RemoteSettings):
    """`kubernetes` in `infra/local.yaml`; without further words, of the cluster Airflow runs in."""

    namespace: ObjectName
    image: Annotated[str, StringConstraints(pattern=r"^\S+$")]
    # May make pods: the driver asks for its executors by this name.
    service_account: ObjectName
    # A Secret with `ca.pem`, and `<site>.ingest.properties` for each site.
    secret: ObjectName
    api_server: HttpsUrl = "https://kubernetes.default.svc"
    token_file: Path = _IN_CLUSTER / "token"
    ca_file: Path = _IN_CLUSTER / "ca.crt"
    # Instead of these three, the current context of this file.
    kubeconfig: Path | None = None

    @model_validator(mode="after")
    def _refuse_two_ways(self) -> KubernetesSettings:
        also = self.model_fields_set & {"api_server", "token_file", "ca_file"}
        if self.kubeconfig and also:
            raise ValueError(
                f"kubeconfig says where the cluster is, and so does {', '.join(sorted(also))};"
                " write one or the other"
            )
        return self


class Remotes(Frozen):
    """None: that runner was not set up."""

    emr_serverless: EmrServerlessSettings | None = None
    kubernetes: KubernetesSettings | None = None

    def of(self, runner: str) -> RemoteSettings | None:
        found: RemoteSettings | None = getattr(self, runner.replace("-", "_"), None)
        return found
