"""A job's measures in AWS's CloudWatch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from millrace.base.errors import TransientError
from millrace.settings.core.metrics import Metrics
from millrace.storage.io.bucket_login import PATIENCE


def put_measures(
    settings: Metrics, noun: str, job_id: str, at: datetime, measures: Mapping[str, float]
) -> None:
    """`noun`: what people call a job of its kind."""
    data = [
        {
            "MetricName": name,
            "Dimensions": [{"Name": noun, "Value": job_id}],
            "Timestamp": at,
            "Value": value,
            "Unit": "Seconds",
        }
        for name, value in measures.items()
    ]
    try:
        _client(settings.region).put_metric_data(Namespace=settings.namespace, MetricData=data)
    except (BotoCoreError, ClientError) as error:
        raise TransientError(
            f"metrics of {settings.namespace}: {error}; the job's role has to be allowed"
            " cloudwatch:PutMetricData in this namespace"
        ) from error


@cache
def _client(region: str) -> Any:
    """Threads may share it."""
    return boto3.Session().client("cloudwatch", region_name=region, config=Config(**PATIENCE))
