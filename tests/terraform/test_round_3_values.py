"""A value of the applied environment is changed: what is planned is that, or a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.terraform.support.tool import Terraform

SECRET = 'module.site["plant-a"].module.user.aws_secretsmanager_secret_version.this'


@pytest.fixture
def values(dev: Terraform) -> Iterator[tuple[Terraform, str]]:
    file = dev.folder / "values.tf"
    before = file.read_text()
    yield dev, before
    file.write_text(before)


def _write(dev: Terraform, before: str, old: str, new: str) -> None:
    assert before.count(old) == 1
    (dev.folder / "values.tf").write_text(before.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("budget_usd = 1500", "budget_usd = 1600", "module.observability.aws_budgets_budget.this"),
        (
            "site_password_versions = {}",
            "site_password_versions = { plant-a = 2 }",
            SECRET,
        ),
    ],
    ids=["budget", "password"],
)
def test_one_value_is_planned_as_one_change(
    old: str, new: str, changed: str, values: tuple[Terraform, str]
) -> None:
    dev, before = values
    _write(dev, before, old, new)
    dev("plan", "-out=one.plan")
    planned = json.loads(dev("show", "-json", "one.plan"))["resource_changes"]
    acted = [one for one in planned if one["change"]["actions"] not in (["no-op"], ["read"])]
    assert [one["address"] for one in acted] == [changed]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (', "eu-central-1c"]', "]", "write three"),
        ("site_cidrs    = []", 'site_cidrs    = ["0.0.0.0/0"]', "0.0.0.0/0"),
        ("brokers       = 3", "brokers       = 4", "brokers is 4; write"),
    ],
    ids=["two zones", "open to everybody", "four brokers"],
)
def test_a_wrong_value_is_refused_at_plan_with_what_to_write(
    old: str, new: str, said: str, values: tuple[Terraform, str]
) -> None:
    dev, before = values
    _write(dev, before, old, new)
    refused = dev.run("plan", "-refresh=false", allowed=(1,))
    assert said in " ".join(refused.stderr.replace("│", " ").split())
