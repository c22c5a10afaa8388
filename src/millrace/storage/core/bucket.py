"""Tables and checkpoints in a bucket: where it is, how it is reached, what Spark must be told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from millrace.base.model import Frozen
from millrace.base.names import Prefix

StoreKind = Literal["folder", "s3"]

SCHEME = "s3a://"
LOCAL_BUCKET = "millrace"
# What every client of a store of our own signs its requests with; AWS has others.
DEFAULT_REGION = "us-east-1"
_PROVIDERS = "software.amazon.awssdk.auth.credentials"

BucketName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class RemoteStore(Frozen):
    """A bucket of somebody else's, as `infra/local.yaml` names it."""

    kind: Literal["s3"]
    bucket: BucketName
    prefix: Prefix | None = None
    region: str = DEFAULT_REGION
    # None: AWS.
    endpoint: str | None = Field(default=None, pattern=r"^https://")
    # An AWS credentials file; none: whatever the SDKs find by themselves.
    credentials_file: Path | None = None
    # Who signed the endpoint's certificate; none: a public authority.
    ca_file: Path | None = None


class Bucket(Frozen):
    """A bucket and the way to it. Secrets stay in the file that this points at."""

    name: str
    prefix: str | None = None
    region: str = DEFAULT_REGION
    endpoint: str | None = None
    credentials_file: Path | None = None
    ca_file: Path | None = None
    # The same CA as Java reads it.
    trust_store: Path | None = None

    @property
    def uri(self) -> str:
        return SCHEME + "/".join(part for part in (self.name, self.prefix) if part)


def remote_bucket(store: RemoteStore, home: Path, trust_store: Path) -> Bucket:
    """`home`: what the settings' relative paths start from."""
    return Bucket(
        name=store.bucket,
        prefix=store.prefix,
        region=store.region,
        endpoint=store.endpoint,
        credentials_file=home / store.credentials_file if store.credentials_file else None,
        ca_file=home / store.ca_file if store.ca_file else None,
        trust_store=trust_store if store.ca_file else None,
    )


def spark_settings(bucket: Bucket) -> dict[str, str]:
    """All visible to every user of the machine, so without any secret."""
    hadoop = {f"spark.hadoop.{key}": value for key, value in _hadoop(bucket).items()}
    return {
        **hadoop,
        # A commit is a put that must be the first: see jvm/src/millrace/logstore.
        "spark.delta.logStore.s3a.impl": "millrace.logstore.S3LogStore",
        # A rename is a copy in a bucket; a file that is aborted never was there.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"
        ),
    }


def java_options(bucket: Bucket) -> tuple[str, ...]:
    options: list[str] = []
    if bucket.credentials_file:
        options += [f"-Daws.sharedCredentialsFile={bucket.credentials_file}", _OWN_PROFILE]
    if bucket.trust_store:
        options.append(f"-Djavax.net.ssl.trustStore={bucket.trust_store}")
    return tuple(options)


# Whoever starts a task may have another one chosen in the shell.
_OWN_PROFILE = "-Daws.profile=default"


def _hadoop(bucket: Bucket) -> dict[str, str]:
    provider = "ProfileCredentialsProvider" if bucket.credentials_file else _AWS_CHAIN
    settings = {
        "fs.s3a.endpoint.region": bucket.region,
        "fs.s3a.aws.credentials.provider": f"{_PROVIDERS}.{provider}",
        # In memory, in small parts: most files here are small, and a kill leaves none behind.
        "fs.s3a.fast.upload.buffer": "array",
        "fs.s3a.multipart.size": "8M",
        # Lists a log from a version on, not from its beginning.
        "delta.enableFastS3AListFrom": "true",
    }
    if bucket.endpoint:
        settings |= {"fs.s3a.endpoint": bucket.endpoint, "fs.s3a.path.style.access": "true"}
    return settings


_AWS_CHAIN = "DefaultCredentialsProvider"
