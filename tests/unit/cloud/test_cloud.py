"""What Terraform is told of pipelines."""

from __future__ import annotations

import pytest

from millrace.cloud.core.terraform_input import CloudPlan, plan_cloud
from millrace.pipelines.core.spec import PipelineSpec
from millrace.sites.core.spec import SiteSpec

SITES = [SiteSpec(name=name, bootstrap=f"{name}.example:9092") for name in ("plant-a", "plant-b")]
RAW = PipelineSpec(name="raw", sites="all", topics=("raw",), format="json", table="raw")
TYPED = PipelineSpec.model_validate(
    {
        "name": "heat",
        "sites": ["plant-a"],
        "topics": ["heat", "cold"],
        "format": "json",
        "table": "heat",
        "columns": {"value": {"type": "float", "from": "$.value"}},
        "supervise": {"max_lag": "2 minutes"},
    }
)


@pytest.fixture
def plan() -> CloudPlan:
    return plan_cloud("0.1.0-abc", [RAW, TYPED], SITES)


def test_a_site_sends_what_its_pipelines_read(plan: CloudPlan) -> None:
    assert plan.topics == {"plant-a": ("cold", "heat", "raw"), "plant-b": ("raw",)}


def test_a_pipeline_without_columns_has_bronze_alone(plan: CloudPlan) -> None:
    assert {layer: set(tables) for layer, tables in plan.tables.items()} == {
        "bronze": {"raw", "heat"},
        "silver": {"heat"},
        "quarantine": {"heat"},
    }


def test_a_catalogue_is_told_what_it_has_words_for(plan: CloudPlan) -> None:
    silver = {column.name: column.type for column in plan.tables["silver"]["heat"]}
    assert silver["value"] == "double"
    assert not {"payload", "day"} & set(silver)


def test_limits_are_seconds(plan: CloudPlan) -> None:
    assert plan.pipelines["heat"].max_lag_s == 120
