"""Where devices connect: the listening side of a TCP input."""

from __future__ import annotations

import asyncio

from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.listener import Handles, Listener
from millrace.gateway.inputs.io.tcp import Connection, Connections
from millrace.gateway.spec.core.input_specs import TcpInput
from millrace.gateway.spec.io.gateway_settings import ServerTls


class TcpServer:
    def __init__(
        self, spec: TcpInput, intake: Intake, handles: Handles, commander: Commander | None = None
    ) -> None:
        self._spec = spec
        self._intake = intake
        self._commander = commander
        self._tls = ServerTls(spec.tls) if spec.tls else None
        self._connections = Connections(spec, intake)
        self._listener = Listener(
            f"input {spec.name!r}",
            self._connection,
            most=spec.max_connections,
            handles=handles,
            tls=self._tls,
        )

    async def start(self) -> None:
        await self._listener.start(*self._spec.host_port)

    @property
    def connection_count(self) -> int:
        return self._listener.count

    @property
    def refused_connections(self) -> int:
        return self._listener.refused

    def look_after(self) -> None:
        self._listener.look_after()
        self._listener.renew()
        self._connections.look_after(asyncio.get_running_loop().time())

    async def stop_listening(self) -> None:
        self._listener.stop()

    async def end(self) -> None:
        for connection in list(self._connections.open):
            connection.end()

    def _connection(self) -> Connection:
        admits = self._tls.admits if self._tls else None
        return Connection(self._spec, self._intake, self._connections, self._commander, admits)
