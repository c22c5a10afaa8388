"""Great Expectations over a DataFrame: in memory, nothing cached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import great_expectations as gx
from great_expectations.core import ExpectationSuite, ExpectationSuiteValidationResult
from great_expectations.data_context.types.base import ProgressBarsConfig
from pyspark.sql import DataFrame

SUMMARY: dict[str, Any] = {"result_format": "SUMMARY", "partial_unexpected_count": 20}


def read_suite(file: Path) -> ExpectationSuite:
    """The file as Great Expectations understands it."""
    values = json.loads(file.read_text(encoding="utf-8"))
    suite = ExpectationSuite(**values)
    wanted, understood = len(values["expectations"]), len(suite.expectations)
    if wanted != understood:
        # It leaves out what it cannot read and goes on.
        raise ValueError(f"Great Expectations reads {understood} of {wanted} entries of {file}")
    return suite


def validate(
    rows: DataFrame, suite: ExpectationSuite, result_format: dict[str, Any]
) -> ExpectationSuiteValidationResult:
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # Its default caches the rows and never frees them.
    source = context.data_sources.add_spark("lake", persist=False)
    batches = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    return batches.get_batch({"dataframe": rows}).validate(suite, result_format=result_format)
