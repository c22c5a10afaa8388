"""Logins in AWS's Secrets Manager: JSON with `username` and `password`, as MSK wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from millrace.base.errors import MillraceError, TransientError
from millrace.storage.io.bucket_login import PATIENCE

_KEYS = ("username", "password")
_SERVERS_FAULT = 500
_PATIENCE_ASKED = ("ThrottlingException", "TooManyRequestsException")


def read_secret(arn: str) -> Mapping[str, str]:
    try:
        text = _client(arn.split(":")[3]).get_secret_value(SecretId=arn)["SecretString"]
        login = json.loads(text)
        return {key: login[key] for key in _KEYS}
    except BotoCoreError as error:
        raise TransientError(f"secret {arn}: {error}") from error
    except ClientError as error:
        raise _named(arn, error) from error
    except (ValueError, KeyError, TypeError):
        # Not `from`: what was read may be shown by neither a log nor a traceback.
        raise MillraceError(
            f"secret {arn} holds no JSON with {' and '.join(_KEYS)}; write both"
        ) from None


def _named(arn: str, error: ClientError) -> MillraceError:
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if status >= _SERVERS_FAULT or error.response.get("Error", {}).get("Code") in _PATIENCE_ASKED:
        return TransientError(f"secret {arn}: {error}")
    return MillraceError(
        f"secret {arn}: {error}; the job's role has to be allowed"
        " secretsmanager:GetSecretValue of it, and kms:Decrypt of its key"
    )


@cache
def _client(region: str) -> Any:
    """Threads may share it."""
    return boto3.Session().client("secretsmanager", region_name=region, config=Config(**PATIENCE))
