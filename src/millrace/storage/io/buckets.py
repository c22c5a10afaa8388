"""A client of the bucket, made once; and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from millrace.base.errors import (
    MillraceError,
    StoreConflictError,
    StoreRefusedError,
    StoreUnreachableError,
)
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.bucket_login import PATIENCE, read_login

_CONFLICT, _PRECONDITION_FAILED, _SERVERS_FAULT = 409, 412, 500
_NOT_FOUND = ("404", "NoSuchKey", "NoSuchBucket")


@cache
def client(bucket: Bucket) -> Any:
    """Threads may share it."""
    style = {"addressing_style": "path"} if bucket.endpoint else {}
    return boto3.Session().client(
        "s3",
        endpoint_url=bucket.endpoint,
        region_name=bucket.region,
        verify=str(bucket.ca_file) if bucket.ca_file else None,
        config=Config(
            **PATIENCE,
            s3=style,
            # Stores other than AWS's do not all know the newer checksums.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
        **read_login(bucket),
    )


@contextmanager
def errors_named(bucket: Bucket) -> Iterator[None]:
    try:
        yield
    except BotoCoreError as error:
        raise StoreUnreachableError(f"object store of {bucket.uri}: {error}") from error
    except ClientError as error:
        raise _kind(error)(f"object store of {bucket.uri}: {error}") from error


def _kind(error: ClientError) -> type[MillraceError]:
    if _status(error) == _CONFLICT:
        return StoreConflictError
    return StoreUnreachableError if _status(error) >= _SERVERS_FAULT else StoreRefusedError


def is_absent(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _NOT_FOUND


def is_taken(error: ClientError) -> bool:
    return _status(error) == _PRECONDITION_FAILED


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
