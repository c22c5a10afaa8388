"""The DAG `infrastructure`'s way with the real program, on what needs no provider and no cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.cloud.core.infrastructure import (
    EnvironmentRequest,
    InfrastructureError,
    TerraformAction,
)
from millrace.cloud.io.environment_run import Agreement, Infrastructure
from millrace.cloud.io.terraform_run import TerraformRun
from millrace.platform.core.platform import Platform
from tests.support import wait_until
from tests.terraform.support.tool import Terraform

APPLY = EnvironmentRequest(environment="dev", action=TerraformAction.APPLY)
DESTROY = EnvironmentRequest(environment="dev", action=TerraformAction.DESTROY, typed="dev")
# `slow` waits for a file, so that whoever tests decides how long.
FILES = """\
resource "terraform_data" "first" {
  for_each = toset(["a", "b"])
  input    = each.key
}

resource "terraform_data" "slow" {
  depends_on = [terraform_data.first]

  provisioner "local-exec" {
    command = "touch begun; while [ -e hold ]; do sleep 0.05; done"
  }
}

resource "terraform_data" "last" {
  depends_on = [terraform_data.slow]
}
"""


class Environment:
    def __init__(self, layout: Platform) -> None:
        self.layout = layout
        self.folder = layout.environments / "dev"
        self.folder.mkdir(parents=True)
        (self.folder / "main.tf").write_text(FILES)

    def plan(self, run: str, request: EnvironmentRequest = APPLY) -> Agreement:
        infrastructure = Infrastructure(self.layout, "dev", run)
        ended(infrastructure.begin_plan(request))
        return infrastructure.end_plan()

    def apply(self, run: str, agreed: Agreement) -> None:
        infrastructure = Infrastructure(self.layout, "dev", run)
        ended(infrastructure.begin_apply(APPLY, agreed.digest))
        infrastructure.end_apply()

    def begin_slow_apply(self, run: str) -> tuple[Infrastructure, TerraformRun]:
        (self.folder / "hold").touch()
        infrastructure = Infrastructure(self.layout, "dev", run)
        step = infrastructure.begin_apply(APPLY, self.plan(run).digest)
        wait_until((self.folder / "begun").exists)
        return infrastructure, step

    def let_go(self) -> None:
        (self.folder / "hold").unlink(missing_ok=True)

    def state(self) -> list[str]:
        return Terraform(self.folder, {})("state", "list").split()


def ended(step: TerraformRun) -> None:
    wait_until(step.look, 60)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    environment = Environment(Platform(tmp_path))
    yield environment
    environment.let_go()


def test_a_plan_is_applied_once_and_all_of_it_destroyed(environment: Environment) -> None:
    agreed = environment.plan("one")
    assert agreed.text.splitlines()[0] == "dev: 4 to add, 0 to change, 0 to destroy"
    assert 'add: terraform_data.first["a"]' in agreed.text
    environment.apply("one", agreed)
    assert len(environment.state()) == 4
    with pytest.raises(InfrastructureError, match="state has changed since the plan"):
        environment.apply("one", agreed)
    assert environment.plan("two").text == "dev: nothing to change"
    (environment.folder / "main.tf").write_text(FILES.replace('"b"', '"c"'))
    assert environment.plan("three").text.splitlines()[1:3] == [
        'destroy: terraform_data.first["b"]',
        'add: terraform_data.first["c"]',
    ]
    environment.apply("four", environment.plan("four", DESTROY))
    assert environment.state() == []


def test_a_lock_that_is_held_is_told_with_its_holder(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.cloud.core.infrastructure._LOCK_WAIT", "-lock-timeout=0s")
    infrastructure, step = environment.begin_slow_apply("one")
    told = r"locked by \S+@\S+ since 20.*\(Operation.*force-unlock [0-9a-f-]{36}' in terraform/"
    with pytest.raises(InfrastructureError, match=told):
        environment.plan("two")
    environment.let_go()
    ended(step)
    infrastructure.end_apply()
    assert len(environment.state()) == 4


def test_an_apply_that_is_stopped_leaves_a_state_from_which_it_goes_on(
    environment: Environment,
) -> None:
    infrastructure, step = environment.begin_slow_apply("one")
    assert [step.ask_to_stop() for _ in range(3)] == [True, False, False]
    ended(step)
    assert "Gracefully shutting down" in step.text()
    with pytest.raises(InfrastructureError, match="asked to stop"):
        infrastructure.end_apply()
    assert {'terraform_data.first["a"]', 'terraform_data.first["b"]'} <= set(environment.state())
    environment.let_go()
    environment.apply("two", environment.plan("two"))
    assert len(environment.state()) == 4


def test_an_error_of_the_files_is_told(environment: Environment) -> None:
    (environment.folder / "main.tf").write_text('locals {\n  a = file("none.txt")\n}\n')
    (environment.folder / "outputs.tf").write_text('output "a" {\n  value = local.a\n}\n')
    with pytest.raises(InfrastructureError, match=r"Error: Invalid function[\s\S]*main\.tf line 2"):
        environment.plan("one")


def test_a_state_that_is_nowhere_is_told(environment: Environment) -> None:
    (environment.folder / "versions.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    with pytest.raises(InfrastructureError, match=r"write terraform/environments/backend\.hcl"):
        environment.plan("one")
