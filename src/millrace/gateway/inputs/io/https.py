"""An HTTPS server in the gateway's event loop: who may come in, where it listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from millrace.gateway.inputs.io.listener import Handles, Listener
from millrace.gateway.inputs.io.tokens import Tokens
from millrace.gateway.spec.io.gateway_settings import ServerTls

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_CLOSE_S = 5.0
# Of a connection without a whole request on it: before the first, and between two.
_IDLE_S = 20.0
_ASKS = {"WWW-Authenticate": 'Basic realm="millrace gateway", Bearer'}


class HttpsServer:
    """`tokens` None: certificates are the only check. `tls` None: plain text was asked for."""

    def __init__(
        self,
        what: str,
        routes: list[web.RouteDef],
        *,
        most_bytes: int,
        most_connections: int,
        handles: Handles,
        tokens: Tokens | None,
        tls: ServerTls | None,
    ) -> None:
        self._tokens = tokens
        self._tls = tls
        app = web.Application(client_max_size=most_bytes, middlewares=[self._check])
        app.add_routes(routes)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=_CLOSE_S, keepalive_timeout=_IDLE_S
        )
        self.listener = Listener(
            what, self._protocol, most=most_connections, handles=handles, tls=tls
        )

    async def start(self, host: str, port: int) -> None:
        await self._runner.setup()
        await self.listener.start(host, port)

    async def end(self) -> None:
        await self._runner.cleanup()

    def _protocol(self) -> web.RequestHandler:
        if self._runner.server is None:
            raise ConnectionAbortedError("it has ended")
        return self._runner.server()

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._tls and not self._tls.admits(request.transport):
            return web.json_response({"error": "this certificate is revoked"}, status=403)
        if self._tokens and not self._tokens.admit(request.headers.get("Authorization")):
            return web.json_response(
                {"error": "no token, or a wrong one"}, status=401, headers=_ASKS
            )
        return await handler(request)
