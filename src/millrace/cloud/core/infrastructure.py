"""What a person asks of Terraform, what of that cannot be meant, and in which words it is told."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen

PROGRAM = "terraform"
# What a plan ends with; anything else is an error.
NOTHING_TO_DO, CHANGES = 0, 2
_QUIET = ("-input=false", "-no-color")
# Whoever holds the lock may be about to let it go.
_LOCK_WAIT = "-lock-timeout=60s"


class TerraformAction(StrEnum):
    APPLY = "apply"
    DESTROY = "destroy"


class EnvironmentRequest(Frozen):
    """What a person asks for."""

    environment: str
    action: TerraformAction
    # The environment's name once more, by the person who destroys it.
    typed: str = ""
    dry_run: bool = False


class InfrastructureError(MillraceError):
    """What cannot be done with Terraform, and the way out."""


class TerraformStep(Frozen):
    """Commands in one folder, one after another until one fails; holds no secret."""

    directory: Path
    commands: tuple[tuple[str, ...], ...]


def refuse_unmeant(request: EnvironmentRequest, environments: Collection[str]) -> None:
    if request.environment not in environments:
        known = ", ".join(sorted(environments)) or "none: terraform/environments has no folder"
        raise InfrastructureError(
            f"environment={request.environment!r} is not a folder of terraform/environments;"
            f" there is {known}"
        )
    if request.action is not TerraformAction.DESTROY and request.typed:
        raise InfrastructureError(
            f"typed={request.typed!r} is for destroy, and the action is {request.action}; leave it"
            " empty, or take another action"
        )
    if (
        request.action is TerraformAction.DESTROY
        and not request.dry_run
        and request.typed != request.environment
    ):
        raise InfrastructureError(
            f"typed={request.typed!r}: to destroy {request.environment!r} with all that it holds,"
            " type its name; with a dry run its plan is shown without"
        )


def refuse_dry_apply(request: EnvironmentRequest) -> None:
    """A person may agree by hand to what nobody was asked."""
    if request.dry_run:
        raise InfrastructureError(
            "dry_run=True: a dry run's plan is not applied; trigger it again without"
        )


def plan_step(
    request: EnvironmentRequest, directory: Path, plan_file: Path, backend: Path | None
) -> TerraformStep:
    """`backend` says where the state is, in an environment whose files leave that open."""
    where = (f"-backend-config={backend}",) if backend else ()
    init = (PROGRAM, "init", *_QUIET, _LOCK_WAIT, *where)
    what = ("-destroy",) if request.action is TerraformAction.DESTROY else ()
    told = ("-detailed-exitcode", f"-out={plan_file}", *what)
    return TerraformStep(
        directory=directory, commands=(init, (PROGRAM, "plan", *_QUIET, _LOCK_WAIT, *told))
    )


def apply_step(directory: Path, plan_file: Path) -> TerraformStep:
    """Exactly what that plan says; Terraform refuses it where the state has changed since."""
    return TerraformStep(
        directory=directory, commands=((PROGRAM, "apply", *_QUIET, _LOCK_WAIT, str(plan_file)),)
    )


def run_folder_name(run_id: str) -> str:
    """A run's id may hold what a folder's name must not."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", run_id)[:60]
    return f"{plain}-{sha256(run_id.encode()).hexdigest()[:8]}"
