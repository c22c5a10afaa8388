"""An environment of terraform/: planned, and changed exactly as its plan says."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

from millrace.base.model import Frozen
from millrace.cloud.core.infrastructure import (
    CHANGES,
    NOTHING_TO_DO,
    PROGRAM,
    EnvironmentRequest,
    InfrastructureError,
    TerraformStep,
    apply_step,
    plan_step,
    refuse_dry_apply,
    refuse_unmeant,
    run_folder_name,
)
from millrace.cloud.core.terraform_words import explain, summarise
from millrace.cloud.io.terraform_run import TerraformRun
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import make_private, mtime_ns

PLAN, APPLY = "plan", "apply"
# A plan may hold what its environment keeps to itself.
_REMEMBERED = 20


class Agreement(Frozen):
    """What a person is shown, and by which it is known again."""

    text: str
    has_changes: bool
    digest: str


def known_environments(layout: Paths) -> list[str]:
    return sorted({file.parent.name for file in layout.environments.glob("*/*.tf")})


class Infrastructure:
    """One run of the DAG: what it keeps lies in a folder of its own."""

    def __init__(self, layout: Paths, environment: str, run_id: str) -> None:
        self._layout = layout
        self._environment = environment
        self._folder = layout.infrastructure(environment) / run_folder_name(run_id)
        self._directory = layout.environments / environment
        self._plan_file = self._folder / "agreed.tfplan"

    def step(self, name: str) -> TerraformRun:
        return TerraformRun(self._folder / name)

    def begin_plan(self, request: EnvironmentRequest) -> TerraformRun:
        refuse_unmeant(request, known_environments(self._layout))
        make_private(self._folder.parent, self._folder)
        self._forget_old_runs()
        backend = self._layout.environments / "backend.hcl"
        told = backend if backend.exists() else None
        return self._begin(PLAN, plan_step(request, self._directory, self._plan_file, told))

    def end_plan(self) -> Agreement:
        run = self.step(PLAN)
        code = self._code_of(run, (NOTHING_TO_DO, CHANGES))
        text = run.text()
        run.mark_told()
        return Agreement(
            text="\n".join(self._lines(code == CHANGES, text, run.log)),
            has_changes=code == CHANGES,
            digest=_digest(self._plan_file) if code == CHANGES else "",
        )

    def begin_apply(self, request: EnvironmentRequest, digest: str) -> TerraformRun:
        refuse_dry_apply(request)
        if not self._plan_file.exists() or _digest(self._plan_file) != digest:
            raise InfrastructureError(
                f"{self._plan_file} is not the plan that you agreed to (made anew, or taken away);"
                " trigger it again"
            )
        return self._begin(APPLY, apply_step(self._directory, self._plan_file))

    def end_apply(self) -> None:
        run = self.step(APPLY)
        self._code_of(run, (0,))
        run.mark_told()

    def _begin(self, name: str, step: TerraformStep) -> TerraformRun:
        if not shutil.which(PROGRAM):
            raise InfrastructureError(
                f"no {PROGRAM!r} is on the PATH of Airflow's worker; install 1.11 or newer there:"
                " it is a single program"
            )
        run = self.step(name)
        run.begin(step)
        return run

    def _code_of(self, run: TerraformRun, good: tuple[int, ...]) -> int:
        ended = run.look()
        if ended is None:
            raise InfrastructureError(f"Terraform is still at work; its log: {run.log}")
        if ended.code not in good:
            why = explain(self._environment, ended, run.text(), run.log)
            run.mark_told()
            raise InfrastructureError(why)
        return ended.code

    def _lines(self, has_changes: bool, text: str, log: Path) -> list[str]:
        if not has_changes:
            return [f"{self._environment}: nothing to change"]
        return summarise(self._environment, text, log)

    def _forget_old_runs(self) -> None:
        others = [run for run in self._folder.parent.iterdir() if run != self._folder]
        for old in sorted(others, key=mtime_ns)[: 1 - _REMEMBERED]:
            shutil.rmtree(old, ignore_errors=True)


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
