"""What Terraform and checkov say by themselves, and each module's own tests, without any AWS."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.terraform.conftest import CHECKOUT, MODULES
from tests.terraform.support.tool import Terraform, find_tflint

BOOTSTRAP = CHECKOUT / "terraform" / "bootstrap"
VARIABLE = re.compile(r'^variable "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
BOOLEAN = re.compile(r"type\s+= bool")
TESTED = ("bootstrap", *(f"modules/{name}" for name in MODULES))
ROOTS = ("bootstrap", "environments/dev", "environments/prod")


def test_files_are_formatted(copy: Path, tool: dict[str, str]) -> None:
    terraform = Terraform(copy / "terraform", tool)
    assert terraform("fmt", "-check", "-recursive", "-list=true") == ""


@pytest.mark.parametrize("root", ROOTS)
def test_root_is_valid(root: str, copy: Path, tool: dict[str, str]) -> None:
    environment = {**tool, "TF_DATA_DIR": ".validated"}
    terraform = Terraform(copy / "terraform" / root, environment)
    terraform.init("-backend=false")
    terraform("validate")


@pytest.fixture(scope="module")
def tested(copy: Path, tool: dict[str, str]) -> Iterator[dict[str, Future[str]]]:
    """Two at once: one core would wait for the other."""
    pool = ThreadPoolExecutor(2)
    yield {module: pool.submit(_test, module, copy, tool) for module in TESTED}
    pool.shutdown(cancel_futures=True)


def _test(module: str, copy: Path, tool: dict[str, str]) -> str:
    terraform = Terraform(copy / "terraform" / module, {**tool, "TF_DATA_DIR": ".tested"})
    terraform.init("-backend=false")
    return terraform("test")


@pytest.mark.parametrize("module", TESTED)
def test_module_passes_its_own_tests(module: str, tested: dict[str, Future[str]]) -> None:
    assert "0 failed" in tested[module].result()


def test_every_module_says_what_it_is() -> None:
    modules = {folder.name for folder in (CHECKOUT / "terraform" / "modules").iterdir()} - {"mocks"}
    assert set(MODULES) == modules
    parts = ("main.tf", "variables.tf", "outputs.tf", "versions.tf", "README.md")
    lacking = [f"{m}/{p}" for m in sorted(modules) for p in parts
               if not (CHECKOUT / "terraform/modules" / m / p).is_file()]  # fmt: skip
    assert lacking == []


def test_every_variable_is_described_typed_and_validated() -> None:
    """A boolean has no third value to refuse."""
    files = [*CHECKOUT.glob("terraform/modules/*/variables.tf"), BOOTSTRAP / "variables.tf"]
    lacking = [
        f"{file.parent.name}.{name} lacks {part}"
        for file in files
        for name, body in VARIABLE.findall(file.read_text())
        for part in ("description", "type", "validation")
        if part not in body and not (part == "validation" and BOOLEAN.search(body))
    ]
    assert lacking == []


@pytest.mark.parametrize("folder", [*ROOTS, *TESTED[1:]])
def test_tflint_finds_nothing(folder: str, copy: Path) -> None:
    settings = copy / "terraform" / ".tflint.hcl"
    done = subprocess.run(
        [find_tflint(), "--format=compact", f"--config={settings}"],
        cwd=copy / "terraform" / folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_checkov_finds_nothing_that_is_not_excused() -> None:
    """An excuse stands in the code, beside what it excuses: checkov:skip=ID:reason."""
    checkov = CHECKOUT / ".venv-checkov" / "bin" / "checkov"
    done = subprocess.run(
        [checkov, "--directory", "terraform", "--framework", "terraform", "--compact", "--quiet"],
        cwd=CHECKOUT,
        env={**os.environ, "BC_SKIP_MAPPING": "TRUE"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Failed checks: 0" in done.stdout or not done.stdout) == (0, True), (
        done.stdout
    )
