"""What supervisord is told is what was meant, read by supervisord's own parser."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path

import pytest
from supervisor.options import ServerOptions

from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.processes.core.supervisor_config import render_config, render_job
from millrace.storage.io.files import write_atomic


def parse(layout: Platform, programs: list[Program]) -> ServerOptions:
    layout.run.mkdir(parents=True)
    layout.logs.mkdir(parents=True)
    write_atomic(layout.supervisor_config, render_config(programs, layout))
    options = ServerOptions()
    options.realize(["-c", str(layout.supervisor_config)])
    return options


def program(tmp_path: Path, **changes: object) -> Program:
    values = {
        "name": "part",
        "command": ("/bin/part",),
        "directory": tmp_path,
        "log": tmp_path / "part.log",
        "priority": 10,
    }
    return Program(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["plain", "100%", 'say "hi"', "two words", "a,b=c", "%(x)s"])
def test_every_text_arrives_as_it_was(tmp_path: Path, text: str) -> None:
    part = program(tmp_path, command=("/bin/part", text), environment={"A": text.replace('"', "")})
    config = parse(Platform(tmp_path), [part]).process_group_configs[0].process_configs[0]
    assert shlex.split(config.command) == ["/bin/part", text]
    assert config.environment == {"A": text.replace('"', "")}


def test_it_listens_on_a_private_socket_only(tmp_path: Path) -> None:
    layout = Platform(tmp_path)
    servers = parse(layout, []).server_configs
    assert [server["file"] for server in servers] == [str(layout.supervisor_socket)]
    assert [server["chmod"] for server in servers] == [0o700]
    assert stat.S_IMODE(layout.supervisor_config.stat().st_mode) == 0o600


def test_a_part_is_kept_alive_and_a_job_is_not(tmp_path: Path) -> None:
    layout = Platform(tmp_path)
    write_atomic(
        layout.job("temperature") / "program.conf",
        render_job(program(tmp_path, name="job-temperature", autostart=False, autorestart=False)),
    )
    groups = parse(layout, [program(tmp_path)]).process_group_configs
    configs = {group.name: group.process_configs[0] for group in groups}
    assert configs["part"].autorestart
    assert not configs["job-temperature"].autorestart
    assert not configs["job-temperature"].autostart
    assert configs["job-temperature"].startsecs == 0
