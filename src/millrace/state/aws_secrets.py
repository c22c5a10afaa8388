"""Logins in AWS's Secrets Manager: JSON with `username` and `password`, as MSK wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from millrace.core.errors import MillraceError
from millrace.state.login import PATIENCE

_KEYS = ("username", "password")


def read_secret(arn: str) -> Mapping[str, str]:
    try:
        text = _client(arn.split(":")[3]).get_secret_value(SecretId=arn)["SecretString"]
        login = json.loads(text)
        return {key: login[key] for key in _KEYS}
    except (BotoCoreError, ClientError) as error:
        raise MillraceError(
            f"secret {arn}: {error}; the job's role has to be allowed"
            " secretsmanager:GetSecretValue of it, and kms:Decrypt of its key"
        ) from error
    except (ValueError, KeyError, TypeError):
        # Not `from`: what was read may be shown by neither a log nor a traceback.
        raise MillraceError(
            f"secret {arn} holds no JSON with {' and '.join(_KEYS)}; write both"
        ) from None


@cache
def _client(region: str) -> Any:
    """Threads may share it."""
    return boto3.Session().client("secretsmanager", region_name=region, config=Config(**PATIENCE))
