"""The keys by which a bucket is opened."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from millrace.base.errors import MillraceError
from millrace.storage.core.bucket import Bucket

# Of a client of AWS, or of what speaks like it.
PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "read_timeout": 20,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}


def read_login(bucket: Bucket) -> dict[str, str]:
    return login_of(bucket.credentials_file)


def login_of(file: Path | None) -> dict[str, str]:
    """The keys in an AWS credentials file; without one, the SDKs look for them by themselves."""
    if file is None:
        return {}
    parser = configparser.ConfigParser()
    try:
        parser.read_string(file.read_text())
        section = parser["default"]
        return {key: section[key] for key in ("aws_access_key_id", "aws_secret_access_key")}
    except (OSError, KeyError, configparser.Error) as error:
        raise MillraceError(
            f"{file}: {error}; it has to be an AWS credentials file with a"
            " [default] section ('millrace up' makes that of the local store)"
        ) from error
