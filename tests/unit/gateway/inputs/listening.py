"""An input of a gateway that listens, with a spool and no broker: in a thread of the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop
from pydantic import TypeAdapter

from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.routes.io.routing import Router
from millrace.gateway.service.io.input_servers import Server, server_of
from millrace.gateway.spec.core.gateway_file import Input
from millrace.gateway.spool.io.committer import Committer
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader
from tests.support import free_ports

PLAIN = {"plain": True, "risk": RISK, "topic": "t", "name": "lines"}
_LOOK_EVERY_S = 0.02


class Listening:
    def __init__(self, folder: Path, **spec: Any) -> None:
        self.port = free_ports(1)
        self.spec = TypeAdapter(Input).validate_python(
            {**PLAIN, "kind": "tcp", "listen": f"127.0.0.1:{self.port}", **spec}
        )
        self.spool = Spool(folder / "spool", self.spec.spool.bounds)
        self.committer = Committer(
            "lines", self.spool, self.spec.at_bound, self._tell, lambda _: None
        )
        self.intake = Intake(Router(self.spec.topic, self.spec.key), self.committer)
        self.server: Server
        self._loop = uvloop.new_event_loop()
        self._ends = asyncio.Event()
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()
        assert self._is_ready.wait(10)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join()
        if self.committer.is_alive():
            self.committer.end()
        self.spool.close()

    def connect(self, *words: bytes) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), 10)
        made.sendall(b"".join(words))
        return made

    @property
    def kept(self) -> list[bytes]:
        reader, found = Reader(self.spool, 0), []
        while records := reader.read():
            found += [one.draft.value for one in records]
        reader.close()
        return found

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self.server = server_of(self.spec, self.intake, Handles(1), None)
        await self.server.start()
        self._is_ready.set()
        while not self._ends.is_set():
            self.server.look_after()
            await asyncio.sleep(_LOOK_EVERY_S)
        await self.server.stop_listening()
        await self.server.end()

    def _tell(self, answers: Any) -> None:
        self._loop.call_soon_threadsafe(lambda: [one.answer(one, what) for one, what in answers])


@contextmanager
def listening(folder: Path, *, commits: bool = True, **spec: Any) -> Iterator[Listening]:
    """Without `commits`, nothing that it takes becomes safe until its committer is started."""
    made = Listening(folder, **spec)
    if commits:
        made.committer.start()
    made.start()
    try:
        yield made
    finally:
        made.end()


def lines_of(connected: socket.socket, count: int) -> list[bytes]:
    """As many as are asked for, or fewer where the other end hangs up."""
    data = b""
    while data.count(b"\n") < count:
        more = connected.recv(1 << 16)
        if not more:
            break
        data += more
    return data.splitlines()
