"""The keys by which a bucket is opened."""

from __future__ import annotations

import configparser

from millrace.core.errors import MillraceError
from millrace.core.store import Bucket


def read_login(bucket: Bucket) -> dict[str, str]:
    """The keys in the bucket's own credentials file; empty where the SDKs find them themselves."""
    if bucket.credentials_file is None:
        return {}
    parser = configparser.ConfigParser()
    try:
        parser.read_string(bucket.credentials_file.read_text())
        section = parser["default"]
        return {key: section[key] for key in ("aws_access_key_id", "aws_secret_access_key")}
    except (OSError, KeyError, configparser.Error) as error:
        raise MillraceError(
            f"{bucket.credentials_file}: {error}; it has to be an AWS credentials file with a"
            " [default] section ('millrace up' makes that of the local store)"
        ) from error
