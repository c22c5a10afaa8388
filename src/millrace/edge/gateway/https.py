"""An HTTPS server in the gateway's event loop: who may come in, where it listens."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable

from aiohttp import web

from millrace.core.errors import MillraceError
from millrace.edge.gateway.tokens import Tokens

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_CLOSE_S = 5.0
_ASKS = {"WWW-Authenticate": 'Basic realm="millrace gateway", Bearer'}


class HttpsServer:
    """`tokens` None: certificates are the only check. `tls` None: plain text was asked for."""

    def __init__(
        self,
        what: str,
        routes: list[web.RouteDef],
        *,
        most_bytes: int,
        tokens: Tokens | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._what = what
        self._tokens = tokens
        self._tls = tls
        app = web.Application(client_max_size=most_bytes, middlewares=[self._check])
        app.add_routes(routes)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSE_S)
        self._site: web.TCPSite | None = None

    async def start(self, host: str, port: int) -> None:
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, host, port, ssl_context=self._tls)
        try:
            await self._site.start()
        except OSError as error:
            problem = f"{self._what}: listen={host}:{port}: {error.strerror}"
            raise MillraceError(f"{problem}; who has this address?") from error

    @property
    def connection_count(self) -> int:
        return len(self._runner.server.connections) if self._runner.server else 0

    async def stop_listening(self) -> None:
        if self._site:
            await self._site.stop()

    async def end(self) -> None:
        await self._runner.cleanup()

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._tokens and not self._tokens.admit(request.headers.get("Authorization")):
            asks = {"WWW-Authenticate": 'Basic realm="millrace gateway", Bearer'}
            return web.json_response(
                {"error": "no token, or a wrong one"}, status=401, headers=asks
            )
        return await handler(request)
