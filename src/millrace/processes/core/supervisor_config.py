"""The process manager's configuration as text: a pure function of the programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from millrace.processes.core.program import Program
from millrace.settings.core.paths import Paths

_LOG_BYTES = "5MB"
_LOG_BACKUPS = 2
# Below this a process that ends counts as one that could not start, and is tried ever more slowly.
_START_S = 3
_START_RETRIES = 30


def render_config(programs: Iterable[Program], layout: Paths) -> str:
    """`supervisord.conf`; what comes later, such as jobs, has sections of its own beside it."""
    sections = [_daemon(layout), *(render_program(program) for program in programs)]
    included = f"{layout.jobs}/*/program.conf {layout.run}/added-*.conf"
    sections.append(_section("include", {"files": included}))
    return "\n".join(sections)


def render_program(program: Program) -> str:
    """A program that is kept alive."""
    return _program(program, {"startsecs": _START_S, "startretries": _START_RETRIES})


def render_job(program: Program) -> str:
    """A program that runs once: whether it is started again is not the process manager's choice."""
    return _program(program, {"startsecs": 0, "startretries": 0, "exitcodes": 0})


def _daemon(layout: Paths) -> str:
    socket = layout.supervisor_socket
    return "\n".join(
        (
            _section("unix_http_server", {"file": socket, "chmod": "0700"}),
            _section(
                "supervisord",
                {
                    "logfile": layout.logs / "supervisord.log",
                    "logfile_maxbytes": _LOG_BYTES,
                    "logfile_backups": _LOG_BACKUPS,
                    "pidfile": layout.supervisor_pid,
                    "childlogdir": layout.logs,
                    "umask": "077",
                },
            ),
            _section(
                "rpcinterface:supervisor",
                {
                    "supervisor.rpcinterface_factory": (
                        "supervisor.rpcinterface:make_main_rpcinterface"
                    )
                },
            ),
            _section("supervisorctl", {"serverurl": f"unix://{socket}"}),
        )
    )


def _program(program: Program, policy: Mapping[str, object]) -> str:
    return _section(
        f"program:{program.name}",
        {
            "command": _escaped(shlex.join(program.command)),
            "directory": program.directory,
            "environment": _environment(program.environment),
            "priority": program.priority,
            "autostart": str(program.autostart).lower(),
            "autorestart": str(program.autorestart).lower(),
            **policy,
            "stopsignal": program.stop_signal,
            "stopwaitsecs": program.stop_wait_s,
            "stopasgroup": "false",
            "killasgroup": "true",
            "redirect_stderr": "true",
            "stdout_logfile": program.log,
            "stdout_logfile_maxbytes": _LOG_BYTES,
            "stdout_logfile_backups": _LOG_BACKUPS,
        },
    )


def _environment(variables: Mapping[str, str]) -> str:
    quoted = (f'{key}="{_escaped(value)}"' for key, value in sorted(variables.items()))
    return ",".join(quoted)


def _section(name: str, values: Mapping[str, object]) -> str:
    lines = (f"{key} = {value}" for key, value in values.items() if str(value) != "")
    return "\n".join((f"[{name}]", *lines, ""))


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
