"""A typed client of the process manager, over its unix socket and nothing else."""

from __future__ import annotations

import http.client
import socket
import xmlrpc.client
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millrace.base.errors import MillraceError, TransientError

_ANSWER_S = 20.0
# xmlrpc fault codes of supervisord
_BAD_NAME, _SPAWN_ERROR, _ALREADY_STARTED, _NOT_RUNNING, _ALREADY_ADDED = 10, 50, 60, 70, 90


class SupervisorUnreachableError(TransientError):
    """The process manager does not answer."""


@dataclass(frozen=True)
class ProcessInfo:
    """One process as supervisord sees it; `state` in its own words: RUNNING, EXITED, ..."""

    name: str
    state: str
    pid: int | None
    started: datetime | None
    stopped: datetime | None
    exit_code: int
    note: str

    @classmethod
    def from_answer(cls, answer: dict[str, Any]) -> ProcessInfo:
        return cls(
            name=answer["name"],
            state=answer["statename"],
            pid=answer["pid"] or None,
            started=_moment(answer["start"]),
            stopped=_moment(answer["stop"]),
            exit_code=answer["exitstatus"],
            note=answer["spawnerr"] or answer["description"],
        )


class Supervisor:
    """One running supervisord."""

    def __init__(self, socket_path: Path) -> None:
        self.socket_path = socket_path

    def pid(self) -> int | None:
        """Its process id; None while none runs."""
        try:
            return int(self._call("getPID"))
        except SupervisorUnreachableError:
            return None

    def processes(self) -> list[ProcessInfo]:
        return [ProcessInfo.from_answer(answer) for answer in self._call("getAllProcessInfo")]

    def process(self, name: str) -> ProcessInfo | None:
        """None for a name it was never told."""
        try:
            return ProcessInfo.from_answer(self._call("getProcessInfo", name))
        except xmlrpc.client.Fault as fault:
            if fault.faultCode == _BAD_NAME:
                return None
            raise

    def start(self, name: str) -> None:
        try:
            self._call("startProcess", name, False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode == _SPAWN_ERROR:
                raise MillraceError(f"{name} could not be started: {fault.faultString}") from fault
            if fault.faultCode != _ALREADY_STARTED:
                raise

    def ask_to_stop(self, name: str) -> None:
        """Returns at once; the process ends when it has ended."""
        try:
            self._call("stopProcess", name, False)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode not in (_NOT_RUNNING, _BAD_NAME):
                raise

    def load(self, name: str, changed: bool) -> None:
        """Make known a program whose section is new, or has changed while it did not run."""
        self._call("reloadConfig")
        if changed:
            with suppress(xmlrpc.client.Fault):  # it was never there
                self._call("removeProcessGroup", name)
        try:
            self._call("addProcessGroup", name)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _ALREADY_ADDED:
                raise

    def shut_down(self) -> None:
        self._call("shutdown")

    def _call(self, method: str, *arguments: object) -> Any:
        transport = _UnixTransport(self.socket_path)
        try:
            with xmlrpc.client.ServerProxy("http://localhost/RPC2", transport) as server:
                return getattr(server.supervisor, method)(*arguments)
        except (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError) as error:
            raise SupervisorUnreachableError(
                f"the process manager does not answer on {self.socket_path} ({error});"
                " 'millrace up' starts it"
            ) from error


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _UnixTransport(xmlrpc.client.Transport):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: object) -> http.client.HTTPConnection:  # noqa: ARG002
        return _UnixConnection(self._path)


def _moment(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
