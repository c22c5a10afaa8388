"""The DAG `infrastructure`: its form, and tasks that begin, wait for, and never kill Terraform."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.cloud.io.environment_run import Infrastructure
from millrace.cloud.io.terraform_run import TerraformRun
from millrace.platform.core.platform import Platform
from millrace.processes.io.process_table import STACK_VARIABLE
from millrace_airflow.base.host import (
    AirflowFailException,
    AirflowSkipException,
    ParamValidationError,
    TaskDeferred,
)
from millrace_airflow.cloud.infrastructure_operators import (
    ApplyInfrastructureOperator,
    PlanInfrastructureOperator,
    approve_infrastructure,
)
from millrace_airflow.cloud.infrastructure_trigger import InfrastructureTrigger
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY
from tests.support import wait_until

FORM = {"environment": "dev", "action": "apply", "typed": None, "dry_run": False}
RUN = "manual__2026-11-19T10:22:52+00:00"
# What stands for Terraform: writes down what it is told, and does what the files beside it say.
PROGRAM = f"""\
#!{sys.executable}
import os, pathlib, signal, sys, time
asked = pathlib.Path("asked")
def note(line):
    with asked.open("a") as file:
        file.write(line + "\\n")
signal.signal(signal.SIGINT, lambda *_: note("INT"))
note(" ".join(sys.argv[1:]))
note(f"stack={{os.environ.get('{STACK_VARIABLE}')}}")
step = sys.argv[1]
for word in sys.argv:
    if word.startswith("-out="):
        pathlib.Path(word[5:]).write_text("a plan")
while pathlib.Path("slow-" + step).exists() and "INT" not in asked.read_text().split():
    time.sleep(0.02)
told = pathlib.Path("tells-" + step)
print(told.read_text() if told.exists() else "", flush=True)
code = pathlib.Path("exits-" + step)
sys.exit(int(code.read_text()) if code.exists() else 0)
"""
TELLS = "  # aws_kms_key.a will be created\n\nPlan: 1 to add, 0 to change, 0 to destroy.\n"


class Stand:
    """An environment `dev`, and a `terraform` that does in it as it is told."""

    def __init__(self, layout: Platform) -> None:
        self.layout = layout
        self.folder = layout.environments / "dev"
        self.folder.mkdir(parents=True)
        (self.folder / "main.tf").write_text("")
        self.say("plan", TELLS, 2)

    def say(self, step: str, text: str, code: int) -> None:
        (self.folder / f"tells-{step}").write_text(text)
        (self.folder / f"exits-{step}").write_text(str(code))

    def hold(self, step: str) -> None:
        (self.folder / f"slow-{step}").touch()

    def release(self, step: str) -> None:
        (self.folder / f"slow-{step}").unlink(missing_ok=True)

    def asked(self, word: str) -> list[str]:
        file = self.folder / "asked"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line for line in lines if line.split()[0] == word]

    def step(self, name: str) -> TerraformRun:
        return Infrastructure(self.layout, "dev", RUN).step(name)


@pytest.fixture
def stand(layout: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    program = tmp_path / "bin" / "terraform"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv(STACK_VARIABLE, "of-this-test")
    stand = Stand(layout)
    yield stand
    for step in ("init", "plan", "apply"):
        stand.release(step)


def context(shown: object = None, **said: Any) -> Any:
    ti = SimpleNamespace(xcom_pull=lambda **_: shown)
    return {"params": FORM | said, "run_id": RUN, "ti": ti}


def waits(operator: Any, context: Any) -> InfrastructureTrigger:
    with pytest.raises(TaskDeferred) as waiting:
        operator.execute(context)
    path, arguments = waiting.value.trigger.serialize()
    trigger = resolve_name(path)(**{**arguments, "poll_s": 0.02})
    assert isinstance(trigger, InfrastructureTrigger)
    return trigger


async def first_event(trigger: InfrastructureTrigger) -> Any:
    async def wait() -> Any:
        async for event in trigger.run():
            return event.payload
        raise AssertionError("the trigger ended without an event")

    return await asyncio.wait_for(wait(), 20)


def done(operator: Any, context: Any) -> Any:
    event = asyncio.run(first_event(waits(operator, context)))
    return operator.resume(context, event)


def plan(**said: Any) -> Any:
    return done(PlanInfrastructureOperator(task_id="plan"), context(**said))


def apply(agreed: object) -> None:
    done(ApplyInfrastructureOperator(task_id="apply"), context(agreed))


def dag() -> Any:
    found = DagBag(dag_folder=REPOSITORY / "dags" / "infrastructure.py", safe_mode=True)
    assert found.import_errors == {}
    return found.dags["infrastructure"]


def test_a_person_is_asked_between_the_plan_and_the_deed(stand: Stand) -> None:
    assert {task.task_id: set(task.downstream_task_ids) for task in dag().tasks} == {
        "plan": {"approve"},
        "approve": {"apply"},
        "apply": set(),
    }
    assert dag().max_active_runs == 1


def test_the_form_offers_the_folders_there_are(stand: Stand) -> None:
    params = dag().params
    assert {name: params.get_param(name).resolve() for name in params} == FORM
    assert params.get_param("environment").schema["enum"] == ["dev"]


@pytest.mark.parametrize(
    "wrong",
    [{"environment": "live"}, {"action": "taint"}, {"dry_run": "perhaps"}, {"typed": 1}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_form_refuses_what_cannot_be(stand: Stand, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ParamValidationError):
        dag().params.get_param(name).resolve(wrong[name])


def test_no_field_is_hidden_and_each_explains_itself(stand: Stand) -> None:
    for param in map(dag().params.get_param, FORM):
        assert param.schema["title"]
        assert param.description
        assert "section" not in param.schema


def test_without_environments_the_dag_is_there_and_its_plan_says_why(layout: Platform) -> None:
    assert dag().params.get_param("environment").resolve() is None
    with pytest.raises(AirflowFailException, match="terraform/environments has no folder"):
        PlanInfrastructureOperator(task_id="plan").execute(context(environment=None))


def test_without_the_program_the_plan_says_so(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(AirflowFailException, match="no 'terraform' is on the PATH"):
        PlanInfrastructureOperator(task_id="plan").execute(context())


def test_a_plan_is_shown_in_few_lines_and_as_a_whole(
    stand: Stand, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    agreed = plan()
    # Airflow's loggers print, since 3.1; before, they are Python's.
    said = capsys.readouterr().out + caplog.text
    assert agreed["text"].splitlines()[:2] == [
        "dev: 1 to add, 0 to change, 0 to destroy",
        "add: aws_kms_key.a",
    ]
    assert "# aws_kms_key.a will be created" in said
    assert stand.asked("stack=of-this-test") == []
    for file in (stand.step("plan").log, stand.step("plan").folder.parent / "agreed.tfplan"):
        assert file.stat().st_mode & 0o077 == 0


def test_what_was_agreed_to_is_applied(stand: Stand) -> None:
    apply(plan())
    (asked,) = stand.asked("apply")
    assert asked.endswith("agreed.tfplan")


@pytest.mark.usefixtures("database")
def test_a_run_of_the_dag_ends_with_what_was_agreed_to(stand: Stand) -> None:
    assert dag().test(mark_success_pattern="approve").state == "success"
    assert len(stand.asked("plan")) == len(stand.asked("apply")) == 1


def test_another_plan_than_the_agreed_one_is_not_applied(stand: Stand) -> None:
    agreed = plan()
    (stand.step("plan").folder.parent / "agreed.tfplan").write_text("another plan")
    with pytest.raises(AirflowFailException, match="not the plan that you agreed to"):
        apply(agreed)
    assert stand.asked("apply") == []


def test_destroy_is_asked_for_by_name(stand: Stand) -> None:
    with pytest.raises(AirflowFailException, match="to destroy 'dev'"):
        plan(action="destroy")
    assert stand.asked("plan") == []
    plan(action="destroy", typed="dev")
    assert " -destroy" in stand.asked("plan")[0]


def test_a_dry_run_that_a_person_waves_through_destroys_nothing(stand: Stand) -> None:
    said = {"action": "destroy", "dry_run": True}
    agreed = plan(**said)
    with pytest.raises(AirflowFailException, match="a dry run's plan is not applied"):
        ApplyInfrastructureOperator(task_id="apply").execute(context(agreed, **said))
    assert stand.asked("apply") == []


@pytest.mark.parametrize(
    ("has_changes", "dry_run", "why"),
    [(True, True, "dry run"), (False, False, "nothing to change")],
)
def test_nobody_is_asked_where_there_is_nothing_to_decide(
    stand: Stand, has_changes: bool, dry_run: bool, why: str
) -> None:
    shown = context({"has_changes": has_changes, "text": ""}, dry_run=dry_run)
    with pytest.raises(AirflowSkipException, match=why):
        approve_infrastructure().execute(shown)


def test_a_plan_without_changes_says_so(stand: Stand) -> None:
    stand.say("plan", "No changes.\n", 0)
    assert plan() == {"text": "dev: nothing to change", "has_changes": False, "digest": ""}


def test_old_runs_go_and_the_one_at_work_stays(stand: Stand) -> None:
    before = [
        Infrastructure(stand.layout, "dev", f"run-{n}").step("plan").folder for n in range(25)
    ]
    for age, folder in enumerate(before):
        folder.mkdir(parents=True)
        os.utime(folder.parent, (age, age))
    plan()
    kept = {folder.parent for folder in before if folder.exists()}
    assert kept == {folder.parent for folder in before[-19:]}
    assert stand.step("plan").log.exists()


def test_a_machine_that_goes_down_is_told_to_terraform_by_itself(stand: Stand) -> None:
    """A second signal would make it drop what it has begun."""
    stand.hold("plan")
    trigger = waits(PlanInfrastructureOperator(task_id="plan"), context())
    wait_until(lambda: stand.asked("plan"))
    os.kill(int((stand.step("plan").folder / "pid").read_text()), signal.SIGTERM)
    wait_until((stand.step("plan").folder / "asked-to-stop").exists)
    stand.release("plan")
    asyncio.run(first_event(trigger))
    assert stand.asked("INT") == []


def test_no_command_is_begun_after_a_stop(stand: Stand) -> None:
    stand.hold("init")
    operator = PlanInfrastructureOperator(task_id="plan")
    trigger = waits(operator, context())
    wait_until(lambda: stand.asked("init"))
    operator.on_kill()
    assert asyncio.run(first_event(trigger))["asked_to_stop"]
    assert stand.asked("plan") == []


def test_a_failure_is_told_and_a_cleared_task_begins_anew(stand: Stand) -> None:
    stand.say("init", "Error: No valid credential sources found\n", 1)
    with pytest.raises(AirflowFailException, match=r"~/\.aws/credentials"):
        plan()
    assert stand.asked("plan") == []
    stand.say("init", "", 0)
    assert plan()["has_changes"]


def test_a_task_that_is_tried_again_finds_what_runs(stand: Stand) -> None:
    """Its worker died between beginning and waiting."""
    agreed = plan()
    stand.hold("apply")
    for _ in range(2):
        operator = ApplyInfrastructureOperator(task_id="apply")
        trigger = waits(operator, context(agreed))
    stand.release("apply")
    operator.resume(context(agreed), asyncio.run(first_event(trigger)))
    assert len(stand.asked("apply")) == 1


def test_an_end_that_nobody_was_told_of_is_not_repeated(stand: Stand) -> None:
    agreed = plan()
    waits(ApplyInfrastructureOperator(task_id="apply"), context(agreed))
    wait_until(stand.step("apply").look)
    apply(agreed)
    assert len(stand.asked("apply")) == 1


def test_terraform_outlives_the_kill_of_its_task(stand: Stand) -> None:
    """Airflow ends a task by a SIGKILL of its process group."""
    stand.hold("plan")
    task = (
        "from tests.airflow.cloud.test_infrastructure import *\n"
        "try: PlanInfrastructureOperator(task_id='plan').execute(context())\n"
        "except TaskDeferred: print('waits', flush=True); signal.pause()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", task], stdout=subprocess.PIPE, cwd=REPOSITORY, start_new_session=True
    ) as process:
        wait_until(lambda: stand.asked("plan"), 60)
        os.killpg(process.pid, signal.SIGKILL)
    assert stand.step("plan").look() is None
    stand.release("plan")
    assert plan()["has_changes"]
    assert len(stand.asked("plan")) == 1


def test_a_person_who_ends_the_task_asks_terraform_once(stand: Stand) -> None:
    agreed = plan()
    stand.hold("apply")
    stand.say("apply", "Error: execution halted\n", 1)
    operator = ApplyInfrastructureOperator(task_id="apply")
    trigger = waits(operator, context(agreed))
    wait_until(lambda: stand.asked("apply"))

    async def act() -> None:
        for _ in range(3):
            await trigger.on_kill()
        await trigger.cleanup()

    asyncio.run(act())
    operator.on_kill()
    wait_until(stand.step("apply").look)
    assert stand.asked("INT") == ["INT"]
    with pytest.raises(AirflowFailException, match="asked to stop"):
        operator.resume(context(agreed))


def test_a_triggerer_that_ends_stops_nothing(stand: Stand) -> None:
    stand.hold("plan")
    trigger = waits(PlanInfrastructureOperator(task_id="plan"), context())
    wait_until(lambda: stand.asked("plan"))
    asyncio.run(trigger.cleanup())
    assert stand.step("plan").look() is None
    stand.release("plan")
    assert asyncio.run(first_event(trigger)) == {"code": 2, "asked_to_stop": False}
    assert stand.asked("INT") == []


def test_a_process_that_is_gone_without_a_word_is_told(stand: Stand) -> None:
    stand.hold("plan")
    operator = PlanInfrastructureOperator(task_id="plan")
    trigger = waits(operator, context())
    wait_until(lambda: stand.asked("plan"))
    session = int((stand.step("plan").folder / "pid").read_text())
    os.killpg(session, signal.SIGKILL)
    assert asyncio.run(first_event(trigger))["code"] is None
    with pytest.raises(AirflowFailException, match="without a word"):
        operator.resume(context())
