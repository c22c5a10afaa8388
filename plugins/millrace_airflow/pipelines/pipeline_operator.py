"""A task about one pipeline."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from millrace.settings.core.layout import Layout
from millrace.settings.io.environment import layout_here


class PipelineOperator(BaseOperator):
    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    @property
    def layout(self) -> Layout:
        return layout_here()
