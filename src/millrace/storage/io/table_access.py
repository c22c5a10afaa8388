"""How delta-rs comes to a bucket."""

from __future__ import annotations

import os

from millrace.storage.core.bucket import Bucket
from millrace.storage.io.bucket_login import read_login


def storage_options(bucket: Bucket | None) -> dict[str, str] | None:
    """Holds the secret; for delta-rs alone, never to be shown."""
    if bucket is None:
        return None
    if bucket.ca_file:
        # delta-rs has no option for it; it asks for this when it makes a client.
        os.environ["SSL_CERT_FILE"] = str(bucket.ca_file)
    endpoint = {"aws_endpoint_url": bucket.endpoint} if bucket.endpoint else {}
    return {"aws_region": bucket.region, **endpoint, **read_login(bucket)}
