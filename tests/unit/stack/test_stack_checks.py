"""What a user can get wrong before `up` is one message that names it and the way out."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.passwords import ensure_user
from millrace.secrets.io.pki import ensure_authority
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.stack.install import machine
from millrace.stack.io.checks import (
    UnfitMachineError,
    check_machine,
    check_path,
    check_ports,
    open_var,
)
from millrace.stack.io.down import down, reset
from millrace.stack.io.exclusive import only_one_at_work
from millrace.stack.io.outside import write_down_outside
from millrace.stack.io.progress import Progress
from millrace.stack.io.stack_plan import StackPlan
from tests.support import free_ports


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    return Platform(tmp_path)


def plan(layout: Platform, airflow_port: int, broker_port: int) -> StackPlan:
    site = SiteSpec(name="plant-a", bootstrap=f"127.0.0.1:{broker_port}", local=LocalBroker())
    return StackPlan(layout, airflow_port, (site,), ())


@pytest.mark.parametrize("offset", [0, 1, 2], ids=["clients", "admin", "controller"])
def test_a_taken_port_is_named_with_its_owner_and_its_setting(
    layout: Platform, offset: int
) -> None:
    first = free_ports(3)
    with socket.socket() as taken, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        airflow_port = unused.getsockname()[1]
        unused.close()
        taken.bind(("127.0.0.1", first + offset))
        taken.listen()
        with pytest.raises(UnfitMachineError) as caught:
            check_ports(plan(layout, airflow_port, first))
    for part in (str(first + offset), f"process {os.getpid()}", "bootstrap in", "plant-a.yaml"):
        assert part in str(caught.value)


def test_free_ports_are_fine(layout: Platform) -> None:
    first = free_ports(4)
    check_ports(plan(layout, first + 3, first))


def test_a_new_var_is_private(layout: Platform) -> None:
    open_var(layout)
    assert layout.var.stat().st_mode & 0o777 == 0o700
    open_var(layout)


def test_a_file_called_var_is_refused(layout: Platform) -> None:
    layout.var.write_text("")
    with pytest.raises(UnfitMachineError, match=r"is not a folder.*make reset"):
        open_var(layout)


def test_a_file_called_var_is_deleted_by_reset(layout: Platform) -> None:
    layout.var.write_text("")
    reset(layout, Progress(Console(quiet=True)))
    assert not layout.var.exists()


@pytest.fixture
def sockets(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """One that a process has left, and one on which somebody listens."""
    left, served = tmp_path / "left.sock", tmp_path / "served.sock"
    with socket.socket(socket.AF_UNIX) as dead, socket.socket(socket.AF_UNIX) as living:
        for server, file in ((dead, left), (living, served)):
            server.bind(str(file))
            server.listen()
        dead.close()
        yield left, served


@pytest.mark.parametrize("end", [down, reset])
def test_the_end_of_a_stack_removes_what_its_programs_left_elsewhere(
    layout: Platform, sockets: tuple[Path, Path], end: Callable[[Platform, Progress], object]
) -> None:
    left, served = sockets
    open_var(layout)
    store = Program("object-store", ("weed",), layout.var, layout.logs / "log", 10, outside=sockets)
    write_down_outside(layout, [store])
    end(layout, Progress(Console(quiet=True)))
    assert (left.exists(), served.exists()) == (False, True)
    assert not layout.outside.exists()


def test_a_stack_with_other_ports_removes_what_the_former_one_left(
    layout: Platform, sockets: tuple[Path, Path]
) -> None:
    left, _ = sockets
    open_var(layout)
    former, now = (
        Program("object-store", ("weed",), layout.var, layout.logs / "log", 10, outside=outside)
        for outside in ((left,), (left.with_name("other.sock"),))
    )
    write_down_outside(layout, [former])
    write_down_outside(layout, [now])
    assert not left.exists()


def test_another_versions_var_is_refused(layout: Platform) -> None:
    open_var(layout)
    layout.var_version.write_text("0\n")
    with pytest.raises(UnfitMachineError, match=r"'0'.*make reset"):
        open_var(layout)


def test_a_new_root_is_made_beside_data_that_stays(layout: Platform) -> None:
    """As docs/security.md says; each certificate is made anew with it."""
    open_var(layout)
    ensure_user(layout, "plant-a", "app")
    (layout.var / "kafka" / "plant-a" / "data").mkdir(parents=True)
    before = ensure_authority(layout)
    issue(layout, "plant-a", "press")
    for folder in (layout.pki, layout.ca_key.parent, layout.devices("plant-a").parent):
        shutil.rmtree(folder)
    open_var(layout)
    assert ensure_authority(layout).certificate != before.certificate
    assert issue(layout, "plant-a", "press").exists()


@pytest.mark.parametrize("data", ["postgres/data", "kafka/plant-a/data"])
def test_data_without_its_keys_is_refused(layout: Platform, data: str) -> None:
    open_var(layout)
    (layout.var / data).mkdir(parents=True)
    with pytest.raises(UnfitMachineError, match="is gone; 'make reset'"):
        open_var(layout)


@pytest.mark.parametrize(
    ("home", "problem"),
    [
        ("/a b", "characters"),
        ("/a;b", "characters"),
        ("/a%b", "characters"),
        ("/" + "x" * 90, "too long"),
    ],
)
def test_a_path_that_cannot_work_is_refused(home: str, problem: str) -> None:
    with pytest.raises(UnfitMachineError, match=problem):
        check_path(Platform(Path(home)))


def test_a_full_disk_is_told_with_its_number(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "check_java", lambda: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1.5e9))
    with pytest.raises(UnfitMachineError, match=r"1\.5 GB free, 5 GB needed"):
        check_machine(layout)


def test_java_missing_is_told_with_the_line_that_installs_it(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        UnfitMachineError, match=r"apt-get install openjdk-17.*brew install openjdk@17"
    ):
        check_machine(layout)


def test_two_commands_at_once_are_refused(layout: Platform) -> None:
    open_var(layout)
    with (
        only_one_at_work(layout, "up"),
        pytest.raises(MillraceError, match=f"'millrace up'.*{os.getpid()}"),
        only_one_at_work(layout, "down"),
    ):
        pass
