"""What the machine must have before anything can be installed or started. Stdlib only."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

JAVA_NEEDED = 17
DISK_NEEDED_GB = 5


class Unfit(Exception):
    """Something is missing; the text says what, and the line that installs it."""


def check_machine(home: Path) -> None:
    """All that is missing, in one error."""
    checks = (check_python, check_java, check_maven, lambda: check_disk(home))
    missing = []
    for check in checks:
        try:
            check()
        except Unfit as error:
            missing.append(str(error))
    if missing:
        raise Unfit("\n       ".join(missing))


def check_python() -> None:
    if sys.version_info[:2] != (3, 11):
        found = ".".join(str(part) for part in sys.version_info[:3])
        raise Unfit(
            f"Python 3.11 is needed, {sys.executable} is {found}; name another with"
            " 'make PYTHON=python3.11 ...'."
            f" {_install('python3.11 python3.11-venv', 'python@3.11')}"
        )
    try:
        import ensurepip  # noqa: F401 - Debian parts it from python3
    except ImportError:
        raise Unfit(
            f"Python's venv module is missing. {_install('python3-venv', 'python@3.11')}"
        ) from None


def check_java() -> None:
    way_out = _install("openjdk-17-jdk-headless", "openjdk@17")
    java = shutil.which("java")
    if java is None:
        raise Unfit(f"Java {JAVA_NEEDED} is missing. {way_out}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        raise Unfit(f"{java} does not say its version (a stub?). {way_out}")
    version = int(match[2] if match[1] == "1" and match[2] else match[1])
    if version < JAVA_NEEDED:
        raise Unfit(f"Java {JAVA_NEEDED} or newer is needed, {java} is {version}. {way_out}")
    if shutil.which("javac") is None:
        raise Unfit(f"{java} is a runtime only; a JDK is needed. {way_out}")


def check_maven() -> None:
    if shutil.which("mvn") is None:
        raise Unfit(f"Maven is missing. {_install('maven', 'maven')}")


def check_disk(folder: Path) -> None:
    free_gb = shutil.disk_usage(folder).free / 1e9
    if free_gb < DISK_NEEDED_GB:
        raise Unfit(
            f"the disk under {folder} is nearly full: {free_gb:.1f} GB free,"
            f" {DISK_NEEDED_GB} GB needed; free some, 'make reset' deletes this stack's data"
        )


def _install(debian: str, mac: str) -> str:
    return f"Debian: sudo apt-get install {debian}   macOS: brew install {mac}"
