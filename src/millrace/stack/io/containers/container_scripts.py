"""A container's program and the question after its health, as text: pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from millrace.gateway.bundle.core.bundle_contents import CA
from millrace.gateway.spec.core.local_file import TOKEN
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.stack.io.airflow import airflow_server, postgres

JOBS = "jobs"
_SILENT_AFTER_S = 60


def render_script(program: Program, environment: Mapping[str, str]) -> str:
    """As the process manager would start it; nothing is left between the container and it."""
    variables = {**environment, **program.environment}
    return "\n".join(
        (
            "set -eu",
            "umask 077",
            *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
            *(f"rm -f {shlex.quote(str(file))}" for file in program.stale),
            f"cd {shlex.quote(str(program.directory))}",
            f"exec {shlex.join(program.command)}",
            "",
        )
    )


def render_health(program: Program, layout: Platform, airflow_port: int) -> str:
    """Ends with 0 while the program does its work; said in bash, which every image has."""
    name = program.name
    if name in airflow_server.COMPONENTS:
        part = f"={airflow_server.health_part(name)}"
        return _ask(layout, airflow_server.health_url(layout, airflow_port), part)
    if name.startswith("gateway-") and program.port:
        address = f"https://{layout.host(name)}:{program.port + 1}/health"
        return _ask(layout, address, str(program.directory / TOKEN), program.directory / CA)
    if name.startswith("relay-"):
        return _is_fresh(str(layout.relay_beat(name.removeprefix("relay-"))))
    if name == postgres.NAME:
        return f"exec {shlex.join(postgres.question(layout))}\n"
    if name == JOBS:
        command = (str(layout.control_bin / "supervisorctl"), "-c", str(layout.supervisor_config))
        return f"exec {shlex.join((*command, 'pid'))}\n"
    if program.port:
        return f'exec 3<>"/dev/tcp/$HOSTNAME/{program.port}"\n'
    return "exit 0 # it has no door to knock at; that it lives is all that can be seen\n"


def _ask(layout: Platform, url: str, how: str, ca: Path | None = None) -> str:
    python = (str(layout.control_bin / "python"), "-m", "millrace.stack.io.answers")
    return f"exec {shlex.join((*python, url, str(ca or layout.ca), how))}\n"


def _is_fresh(file: str) -> str:
    return f"test $(( $(date +%s) - $(stat -c %Y {shlex.quote(file)}) )) -lt {_SILENT_AFTER_S}\n"
