"""A task about one pipeline."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here


class PipelineOperator(BaseOperator):
    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    @property
    def layout(self) -> Platform:
        return platform_here()
