"""What an environment says of itself: from a file, or from Terraform, which reads its state."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from millrace.cloud.core.infrastructure import (
    PROGRAM,
    EnvironmentRequest,
    InfrastructureError,
    TerraformAction,
    refuse_unmeant,
)
from millrace.settings.core.paths import Paths

_LIMIT_S = 120


def read_outputs(layout: Paths, environment: str, file: Path | None) -> dict[str, Any]:
    known = [one.name for one in layout.environments.glob("*") if one.is_dir()]
    refuse_unmeant(EnvironmentRequest(environment=environment, action=TerraformAction.APPLY), known)
    where = str(file) if file else f"terraform output in {layout.environments / environment}"
    text = _read(file) if file else _ask(layout.environments / environment)
    try:
        return {name: said["value"] for name, said in json.loads(text).items()}
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise InfrastructureError(
            f"{where}: it is not what 'terraform output -json' says; write that there"
        ) from error


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise InfrastructureError(
            f"{file}: {error.strerror}; write into it what 'terraform output -json' says"
        ) from error


def _ask(folder: Path) -> str:
    try:
        done = subprocess.run(
            [PROGRAM, "output", "-json", "-no-color"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
        )
    except FileNotFoundError as error:
        raise InfrastructureError(
            f"no '{PROGRAM}' is on the PATH; where there is one, run 'terraform output -json' in"
            f" {folder} and name the file by --outputs"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"terraform said nothing in {folder} for {_LIMIT_S} s") from error
    if done.returncode:
        raise InfrastructureError(
            f"terraform output in {folder} failed; was it initialized there"
            f" (terraform init -backend-config=../backend.hcl)? It said:\n{done.stderr.strip()}"
        )
    return done.stdout
