"""Where devices connect: the listening side of a TCP input."""

from __future__ import annotations

import asyncio

from millrace.core.errors import MillraceError
from millrace.core.gateway.inputs import TcpInput
from millrace.edge.gateway.commander import Commander
from millrace.edge.gateway.intake import Intake
from millrace.edge.gateway.settings import ServerTls
from millrace.edge.gateway.tcp import Connection, Connections

_BACKLOG = 4_096
# Of a device that connects and then says nothing.
_HANDSHAKE_S = 20.0


class TcpServer:
    def __init__(self, spec: TcpInput, intake: Intake, commander: Commander | None = None) -> None:
        self._spec = spec
        self._intake = intake
        self._commander = commander
        self._tls = ServerTls(spec.tls) if spec.tls else None
        self.connections = Connections(spec.max_connections)
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        host, port = self._spec.host_port
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._connection,
                host,
                port,
                backlog=_BACKLOG,
                ssl=self._tls.context if self._tls else None,
                ssl_handshake_timeout=_HANDSHAKE_S if self._tls else None,
            )
        except OSError as error:
            where = f"input {self._spec.name!r}: listen={self._spec.listen}"
            raise MillraceError(f"{where}: {error.strerror}; who has this address?") from error

    @property
    def connection_count(self) -> int:
        return len(self.connections.open)

    def look_after(self) -> None:
        self.connections.look_after(asyncio.get_running_loop().time())
        if self._tls:
            self._tls.renew()

    async def stop_listening(self) -> None:
        if self._server:
            self._server.close()

    async def end(self) -> None:
        for connection in list(self.connections.open):
            connection.end()

    def _connection(self) -> Connection:
        return Connection(self._spec, self._intake, self.connections, self._commander)
