"""Great Expectations over a DataFrame: in memory, nothing cached, nothing sent anywhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

# Set before it is imported: it would report what is called to its makers.
os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
from great_expectations.core import ExpectationSuite, ExpectationSuiteValidationResult
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
    # Its default caches the rows and never frees them.
    source = context.data_sources.add_spark("lake", persist=False)
    batches = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    return batches.get_batch({"dataframe": rows}).validate(suite, result_format=result_format)
