"""Messages by HTTPS: `POST /messages`, one as the body, or many as lines of NDJSON.

The answer comes when all of them are safe. With `Idempotency-Key`, a request that is sent again is
known, and what it had made safe before it was cut short is not kept twice. A key is its client's
own: of its certificate, of its token, or of all that have neither.
"""

from __future__ import annotations

import asyncio
import re

from aiohttp import web

from millrace.gateway.inputs.core.framing import Lines
from millrace.gateway.inputs.core.greeting import owner_of
from millrace.gateway.inputs.core.requests import request_origin
from millrace.gateway.inputs.io.https import HttpsServer
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.inputs.io.tokens import Tokens, shown_in
from millrace.gateway.spec.core.input_specs import HttpInput
from millrace.gateway.spec.io.gateway_settings import ServerTls
from millrace.gateway.spool.core.ledger import Entry, are_safe
from millrace.gateway.spool.core.records import Record
from millrace.gateway.spool.io.committer import Outcome, ReceivedBatch

_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_BODY_S = 30.0
# What all requests of an input may have begun and not ended.
_BEGUN_BYTES = 64 << 20
_CROWDED_S = 0.05
_MANY = ("application/x-ndjson", "application/jsonl")


class HttpServer:
    def __init__(self, spec: HttpInput, intake: Intake, handles: Handles) -> None:
        self._spec = spec
        self._intake = intake
        self._tokens = Tokens(spec.tokens) if spec.tokens else None
        self._most_bytes = spec.spool.segment // 4
        self._begun_bytes = 0
        self._server = HttpsServer(
            f"input {spec.name!r}",
            [web.post("/messages", self._post)],
            most_bytes=self._most_bytes,
            most_connections=spec.max_connections,
            handles=handles,
            tokens=self._tokens,
            tls=ServerTls(spec.tls) if spec.tls else None,
        )

    async def start(self) -> None:
        await self._server.start(*self._spec.host_port)

    @property
    def connection_count(self) -> int:
        return self._server.listener.count

    @property
    def refused_connections(self) -> int:
        return self._server.listener.refused

    def look_after(self) -> None:
        self._server.listener.look_after()
        self._server.listener.renew()
        if self._tokens:
            self._tokens.renew()

    async def stop_listening(self) -> None:
        self._server.listener.stop()

    async def end(self) -> None:
        await self._server.end()

    async def _post(self, request: web.Request) -> web.Response:
        key = request.headers.get("Idempotency-Key", "")
        if key and not _KEY.fullmatch(key):
            return _error(400, "Idempotency-Key is up to 200 visible ASCII characters")
        await self._wait_until_calm()
        try:
            async with asyncio.timeout(_BODY_S):
                body = await self._read(request)
        except TimeoutError:
            self._intake.malformed += 1
            return _error(408, f"the request did not end within {_BODY_S:.0f} s")
        except web.RequestPayloadError:
            self._intake.malformed += 1
            return _error(400, "the request's body is not as its headers say")
        if body is None:
            self._intake.cut += 1
            return _busy("too many requests have begun and not ended")
        messages = self._messages(body, request.content_type)
        if None in messages:
            self._intake.malformed += 1
            return _error(413, f"a message is longer than {self._spec.max_message} bytes")
        if not messages:
            return _error(400, "there is no message in the request")
        origin = request_origin(_client_of(request), key, body) if key else b""
        outcome = await self._keep([one for one in messages if one is not None], origin)
        return _busy("there is no room") if outcome is None else _safe(outcome)

    async def _read(self, request: web.Request) -> bytes | None:
        """None: together, all that have begun are more than may be in memory."""
        body = bytearray()
        try:
            async for chunk in request.content.iter_any():
                body += chunk
                self._begun_bytes += len(chunk)
                if len(body) > self._most_bytes:
                    raise web.HTTPRequestEntityTooLarge(self._most_bytes, len(body))
                if self._begun_bytes > _BEGUN_BYTES:
                    return None
        finally:
            self._begun_bytes -= len(body)
        return bytes(body)

    def _messages(self, body: bytes, kind: str) -> list[bytes | None]:
        if kind in _MANY:
            lines = Lines(self._spec.max_message)
            return lines.feed(body if body.endswith(b"\n") else body + b"\n")
        if len(body) > self._spec.max_message:
            return [None]
        return [body] if body else []

    async def _wait_until_calm(self) -> None:
        """Who sends waits while there is more under way than should be in memory."""
        while self._intake.is_crowded:  # noqa: ASYNC110 - another thread makes it calm
            await asyncio.sleep(_CROWDED_S)

    async def _keep(self, messages: list[bytes], origin: bytes) -> list[Entry] | None:
        """All of them are safe, or it is None and the whole request is to be sent again."""
        done: asyncio.Future[list[Entry] | None] = asyncio.get_running_loop().create_future()
        entries: list[Entry] = []

        def answer(_: ReceivedBatch, outcome: Outcome) -> None:
            if done.done():
                return
            entries.extend(outcome or [])
            if outcome is None or not are_safe(outcome):
                done.set_result(None)
            elif len(entries) == len(messages):
                done.set_result(entries)

        self._intake.take(messages, answer, origin, 1)
        return await done


def _safe(entries: list[Entry]) -> web.Response:
    numbers = [entry.number for entry in entries if isinstance(entry, Record)]
    said: dict[str, int] = {"safe": len(entries), "known": len(entries) - len(numbers)}
    if numbers:
        said |= {"first": numbers[0], "last": numbers[-1]}
    return web.json_response(said)


def _client_of(request: web.Request) -> str:
    certificate = request.transport.get_extra_info("peercert") if request.transport else None
    token = shown_in(request.headers.get("Authorization"))
    return f"{owner_of(certificate)}\0{token.decode(errors='surrogateescape')}"


def _busy(reason: str) -> web.Response:
    return _error(503, f"{reason}; try again later", {"Retry-After": "5"})


def _error(status: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": reason}, status=status, headers=headers)
