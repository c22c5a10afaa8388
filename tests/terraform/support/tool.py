"""Terraform as a program: found, checked, and run in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_PROVIDER = "hashicorp/aws/5.100.0"
_MIRROR = "TERRAFORM_MIRROR"
_TFLINT = "v0.64.0"
_FROM, _BEFORE = (1, 11), (2, 0)
_LIMIT_S = 600
# Terraform's cache of providers is not made for two that fill it.
_ONE_AT_A_TIME = threading.Lock()
_PLAIN = {"TF_IN_AUTOMATION": "1", "TF_CLI_ARGS": "-no-color"}
NOTHING_TO_DO, CHANGES = 0, 2
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Figure:
    """What one call took; `peak_mb` is of Terraform or of the provider, whichever had more."""

    folder: Path
    command: str
    said: str
    seconds: float
    peak_mb: float

    @property
    def counts(self) -> str:
        found = _COUNTS.findall(self.said)
        return found[-1] if found else "nothing to change" if "No changes." in self.said else ""


# Of this run, for who reads its end.
FIGURES: list[Figure] = []
_COUNTS = re.compile(r"(?:Plan|complete!.*?): (\d+ .*?)\.?$", re.MULTILINE)


class UnfitError(Exception):
    """What this machine lacks, and the way out."""


class FailedError(Exception):
    """Terraform ended with an error."""


def check_terraform() -> None:
    if not shutil.which("terraform"):
        raise UnfitError(
            "these tests need Terraform, and no 'terraform' is on the PATH; install 1.11 or newer:"
            " it is a single program, which no package of Python or Java brings"
        )
    told = subprocess.check_output(["terraform", "version", "-json"], text=True)  # noqa: S607 - from the PATH
    version = json.loads(told)["terraform_version"]
    if not _FROM <= tuple(int(part) for part in version.split("-")[0].split(".")[:2]) < _BEFORE:
        raise UnfitError(f"terraform is {version}; these tests need 1.11 or newer, below 2")


def find_tflint() -> str:
    """On the PATH, or where Go puts what it builds."""
    found = shutil.which("tflint", path=f"{os.environ.get('PATH', '')}:{Path.home() / 'go/bin'}")
    if not found:
        raise UnfitError(
            "these tests need tflint, and no 'tflint' is on the PATH or in ~/go/bin; build it:"
            f" go install github.com/terraform-linters/tflint@{_TFLINT}"
        )
    return found


def cli_environment(folder: Path) -> dict[str, str]:
    """Where the provider comes from: a mirror on this machine, else where Terraform looks."""
    mirror = _find_mirror()
    if mirror is None:
        cache = folder / "plugins"
        cache.mkdir()
        return {"TF_PLUGIN_CACHE_DIR": str(cache)}
    settings = folder / "terraform.rc"
    settings.write_text(
        f'provider_installation {{\n  filesystem_mirror {{ path = "{mirror}" }}\n}}\n'
    )
    return {"TF_CLI_CONFIG_FILE": str(settings)}


def _find_mirror() -> Path | None:
    named = os.environ.get(_MIRROR)
    if named:
        if not any(Path(named).glob(f"*/{_PROVIDER}")):
            raise UnfitError(
                f"{_MIRROR}={named} holds no <host>/{_PROVIDER}; name a mirror's folder"
            )
        return Path(named)
    found = next(Path("/opt").glob(f"*/*/{_PROVIDER}"), None)
    return found.parents[3] if found else None


@dataclass(frozen=True)
class Terraform:
    """One folder with configuration, and what Terraform is told by its environment."""

    folder: Path
    environment: dict[str, str]

    def init(self, *options: str) -> None:
        try:
            with _ONE_AT_A_TIME:
                self("init", *options)
        except FailedError as error:
            raise FailedError(
                f"{error}\nThe provider {_PROVIDER} comes from Terraform's own registry, or from a"
                f" mirror's folder that {_MIRROR} names ('terraform providers mirror' makes one)."
            ) from error

    def __call__(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
        return self.run(*arguments, allowed=allowed).stdout

    def plan(self) -> int:
        """NOTHING_TO_DO or CHANGES."""
        allowed = (NOTHING_TO_DO, CHANGES)
        return self.run("plan", "-detailed-exitcode", allowed=allowed).returncode

    def output(self) -> dict[str, Any]:
        told = json.loads(self("output", "-json"))
        return {name: value["value"] for name, value in told.items()}

    def run(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> Done:
        done = self._measured(arguments)
        if done.returncode not in allowed:
            words = f"{done.stdout[-6000:]}\n{done.stderr}"
            raise FailedError(f"terraform {' '.join(arguments)} in {self.folder}:\n{words}")
        return done

    def _measured(self, arguments: tuple[str, ...]) -> Done:
        began_s = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                ["terraform", *arguments],  # noqa: S607 - from the PATH
                cwd=self.folder,
                env={**_clean(os.environ), **self.environment, **_PLAIN},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            limit = threading.Timer(_LIMIT_S, process.kill)
            limit.start()
            _, status, used = os.wait4(process.pid, 0)
            limit.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            said = [_read(file) for file in (out, err)]
        seconds = time.monotonic() - began_s
        FIGURES.append(Figure(self.folder, arguments[0], said[0], seconds, used.ru_maxrss / 1024))
        return Done(arguments, process.returncode, *said)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what points at somebody's real account, or changes what Terraform says."""
    ours = ("AWS_", "TF_VAR_", "TF_CLI_ARGS", "TF_LOG", "TF_WORKSPACE", "TF_DATA_DIR")
    return {name: value for name, value in environment.items() if not name.startswith(ours)}
