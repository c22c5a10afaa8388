"""What is asked of Terraform, in which words, and what its own words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cloud.core.infrastructure import (
    EnvironmentRequest,
    InfrastructureError,
    TerraformAction,
    apply_step,
    plan_step,
    refuse_unmeant,
    run_folder_name,
)
from millrace.cloud.core.terraform_words import Ended, explain, held_lock, summarise
from millrace.cloud.io.terraform_run import terraform_environment
from millrace.processes.io.process_table import JOB_VARIABLE, STACK_VARIABLE

HERE, PLAN, LOG = Path("/e/dev"), Path("/r/agreed.tfplan"), Path("/r/plan/terraform.log")
APPLY = EnvironmentRequest(environment="dev", action=TerraformAction.APPLY)
DESTROY = EnvironmentRequest(environment="dev", action=TerraformAction.DESTROY, typed="dev")
LOCKED = """\
Error: Error acquiring the state lock

Error message: resource temporarily unavailable
Lock Info:
  ID:        91c6f809-71cd-f551-7247-93371f0ee4d9
  Path:      terraform.tfstate
  Operation: OperationTypeApply
  Who:       ada@mill
  Version:   1.11.4
  Created:   2026-11-19 10:22:52.497449389 +0000 UTC
  Info:

Terraform acquires a state lock to protect the state from being written
"""
CHANGES = """\
  # module.lake.aws_s3_bucket.lake will be updated in-place
  # module.site["plant-a"].aws_secretsmanager_secret.user will be created
  # (config refers to values not yet known)
  # module.kafka.aws_msk_cluster.main must be replaced
  # aws_kms_key.old will be destroyed
  # (because aws_kms_key.old is not in configuration)
  # aws_kms_key.bad is tainted, so must be replaced
  # aws_kms_key.old (deposed object 12ab) will be destroyed

Plan: 3 to add, 1 to change, 4 to destroy.
"""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"environment": "live"}, "'live' is not a folder .* there is dev, prod"),
        ({"typed": "dev"}, "typed='dev' is for destroy"),
        ({"action": TerraformAction.DESTROY}, "typed='': to destroy 'dev'"),
        ({"action": TerraformAction.DESTROY, "typed": "prod"}, "typed='prod': to destroy 'dev'"),
    ],
    ids=["unknown", "typed for apply", "not typed", "another typed"],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(change: dict[str, str], why: str) -> None:
    with pytest.raises(InfrastructureError, match=why):
        refuse_unmeant(APPLY.model_copy(update=change), ["prod", "dev"])


@pytest.mark.parametrize(
    "wanted", [APPLY, DESTROY, DESTROY.model_copy(update={"typed": "", "dry_run": True})]
)
def test_what_is_meant_is_not_refused(wanted: EnvironmentRequest) -> None:
    refuse_unmeant(wanted, ["dev"])


def test_a_plan_comes_after_init_and_is_written_down() -> None:
    init, plan = plan_step(APPLY, HERE, PLAN, Path("/e/backend.hcl")).commands
    assert init[:2] == ("terraform", "init")
    assert init[-1] == "-backend-config=/e/backend.hcl"
    assert plan[:2] == ("terraform", "plan")
    assert {"-detailed-exitcode", "-out=/r/agreed.tfplan"} < set(plan)
    assert "-destroy" not in plan


def test_only_destroy_plans_to_destroy() -> None:
    init, plan = plan_step(DESTROY, HERE, PLAN, None).commands
    assert "-destroy" in plan
    assert not any("backend" in word for word in init)


def test_what_is_applied_is_the_plan_and_no_other() -> None:
    (apply,) = apply_step(HERE, PLAN).commands
    assert apply[-1] == "/r/agreed.tfplan"
    assert "-auto-approve" not in apply
    assert "-destroy" not in apply


def test_terraform_waits_for_a_lock_and_asks_nobody() -> None:
    steps = plan_step(APPLY, HERE, PLAN, None), apply_step(HERE, PLAN)
    for command in (command for step in steps for command in step.commands):
        assert {"-input=false", "-no-color", "-lock-timeout=60s"} < set(command)


def test_what_is_lost_is_named_first() -> None:
    lines = summarise("dev", CHANGES, LOG)
    assert lines == [
        "dev: 3 to add, 1 to change, 4 to destroy",
        "destroy: aws_kms_key.old",
        "destroy: aws_kms_key.old (deposed object 12ab)",
        "replace: module.kafka.aws_msk_cluster.main",
        "replace: aws_kms_key.bad",
        "change: module.lake.aws_s3_bucket.lake",
        'add: module.site["plant-a"].aws_secretsmanager_secret.user',
        f"the whole plan: the log of this run's task plan, and {LOG}",
    ]


def test_a_long_plan_is_cut_where_it_says_so() -> None:
    many = "".join(f"  # aws_x.y[{n}] will be created\n" for n in range(200))
    lines = summarise("dev", many + "  # aws_x.z will be destroyed\n", LOG)
    assert len(lines) == 63
    assert lines[1] == "destroy: aws_x.z"
    assert lines[-2] == "and 141 more"


def test_a_change_of_outputs_alone_is_a_change() -> None:
    assert "outputs do" in summarise("dev", "Changes to Outputs:\n  + o = 1\n", LOG)[0]


def test_a_held_lock_is_told_with_its_holder_and_the_way_out() -> None:
    told = held_lock("dev", LOCKED) or ""
    assert "locked by ada@mill since 2026-11-19 10:22:52" in told
    assert "OperationTypeApply" in told
    assert "terraform force-unlock 91c6f809-71cd-f551-7247-93371f0ee4d9" in told


def test_a_lock_of_nobody_known_is_a_lock_too() -> None:
    assert "somebody unknown" in (held_lock("dev", "Error: Error acquiring the state lock") or "")
    assert held_lock("dev", "Error: Invalid function") is None


@pytest.mark.parametrize(
    ("ended", "text", "why"),
    [
        (Ended(code=1), LOCKED, "locked by ada@mill"),
        (Ended(code=1), "Error: No valid credential sources found\n", "~/.aws/credentials"),
        (Ended(code=1), 'The attribute "bucket" is required by the backend.', "backend.hcl"),
        (
            Ended(code=1),
            'Invalid value: no file\nexists at "./../../../var/release/plan.json";',
            "make release",
        ),
        (Ended(code=1), "Error: Saved plan is stale\n", "trigger it again"),
        (
            Ended(code=1),
            "noise\nError: Odd\n\n  on main.tf\n",
            "Error: Odd\n  on main.tf\nall",
        ),
        (Ended(code=1), "╷\n│ Error: Odd\n│  on main.tf\n╵\n", "Error: Odd\n on main.tf\nall"),
        (Ended(code=1, asked_to_stop=True), "Error: execution halted", "asked to stop"),
        (Ended(code=None), "", "without a word"),
        (Ended(code=-9), "", "by signal 9"),
    ],
)
def test_a_failure_names_its_cause_and_where_all_of_it_is(
    ended: Ended, text: str, why: str
) -> None:
    told = explain("dev", ended, text, LOG)
    assert why in told
    assert told.endswith(f"all of it: {LOG}")


def test_a_long_error_is_cut() -> None:
    text = "Error: one\n" + "and more\n" * 500
    assert len(explain("dev", Ended(code=1), text, LOG).splitlines()) < 25


@pytest.mark.parametrize("run_id", ["..", "manual__2026-11-19T10:22:52.4+00:00", "a/b", "x" * 200])
def test_a_run_of_any_name_has_a_folder_of_its_own(run_id: str) -> None:
    name = run_folder_name(run_id)
    assert Path(name).name == name
    assert set(name) != {"."}
    assert len(name) < 80
    assert name != run_folder_name(run_id + "-")


def test_terraform_carries_no_mark_that_the_stack_kills_by_and_no_setting_of_airflow() -> None:
    told = terraform_environment(
        {
            "PATH": "/bin",
            STACK_VARIABLE: "a",
            JOB_VARIABLE: "b",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "c",
            "_AIRFLOW__X": "d",
        }
    )
    assert told == {"PATH": "/bin", "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
