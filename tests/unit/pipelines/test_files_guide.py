"""The guide names every key of the files that people edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from millrace.pipelines.core.spec import Keep, PipelineSpec, Resources, Supervise
from millrace.platform.io.environment import LocalSettings
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.spec import SiteSpec

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "files.md").read_text()


def keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def section(title: str) -> str:
    return GUIDE.split(f"\n## `{title}", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize(
    ("title", "model", "prefix"),
    [
        ("dags/pipelines", PipelineSpec, ""),
        ("dags/pipelines", Supervise, "supervise."),
        ("dags/pipelines", Resources, "resources."),
        ("dags/pipelines", Keep, "keep."),
        ("dags/sites", SiteSpec, ""),
        ("dags/relays", RelaySpec, ""),
        ("infra/local.yaml", LocalSettings, ""),
    ],
)
def test_every_key_stands_in_the_table_of_its_file(
    title: str, model: type[BaseModel], prefix: str
) -> None:
    table = section(title)
    nested = {"supervise", "resources", "keep"}
    missing = [
        key
        for key in keys_of(model)
        if f"`{prefix}{key}`" not in table and not (key in nested and f"`{key}." in table)
    ]
    assert missing == []
