"""Accepts connections, one after the other, as long as there is room for them.

asyncio's own servers accept whatever waits, thousands at once, and know of a connection only when
its TLS is ready. So neither a bound nor the process's open files would hold.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from millrace.base.errors import MillraceError
from millrace.gateway.inputs.core.handles import connections_within
from millrace.gateway.spec.io.gateway_settings import ServerTls

log = logging.getLogger(__name__)
_BACKLOG = 4_096
# In one turn of the loop; others wait for theirs.
_AT_ONCE = 64
_PAUSE_S = 0.1
# Where there is no room, all are looked through for those that have ended.
_LOOK_EVERY_S = 0.02
# Of a client that connects and then says nothing.
_HANDSHAKE_S = 20.0
_RESET = struct.pack("ii", 1, 0)  # a linger of 0 s: no farewell


class Handles:
    """How many connections the process may have, whatever they are for."""

    def __init__(self, spools: int) -> None:
        self._listeners: list[Listener] = []
        self.most = connections_within(_raised_limit(), spools)

    def join(self, listener: Listener) -> None:
        self._listeners.append(listener)

    @property
    def are_left(self) -> bool:
        return sum(one.count for one in self._listeners) < self.most

    def look_after(self) -> None:
        for one in self._listeners:
            one.look_after()

    def say_if_short(self) -> None:
        wanted = sum(one.most for one in self._listeners)
        if wanted > self.most:
            log.warning(
                "max_connections is %s in all, and open files suffice for %s (ulimit -n)",
                wanted,
                self.most,
            )


class Listener:
    def __init__(
        self,
        what: str,
        protocol: Callable[[], asyncio.BaseProtocol],
        *,
        most: int,
        handles: Handles,
        tls: ServerTls | None,
    ) -> None:
        """`what` it is, for errors. `tls` None: plain text was asked for."""
        self._what = what
        self._protocol = protocol
        self.most = most
        self._handles = handles
        self._tls = tls
        # One for each address that the host's name has.
        self._sockets: list[socket.socket] = []
        self._open: dict[socket.socket, asyncio.WriteTransport | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._without_room = 0
        self._looked_s = 0.0
        handles.join(self)

    @property
    def count(self) -> int:
        """Open connections, those in the middle of their handshake among them."""
        return len(self._open)

    @property
    def refused(self) -> int:
        """For want of room, or because their certificate may not be used any more."""
        return self._without_room + (self._tls.turned_away if self._tls else 0)

    async def start(self, host: str, port: int) -> None:
        where = f"{self._what}: listen={host}:{port}"
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            for family, *_, address in dict.fromkeys(found):
                self._sockets.append(_listening(family, address))
        except OSError as error:
            raise MillraceError(f"{where}: {error.strerror}; who has this address?") from error
        for one in self._sockets:
            self._listen_on(one)

    def stop(self) -> None:
        for one in self._sockets:
            asyncio.get_running_loop().remove_reader(one)
            one.close()
        self._sockets.clear()

    def look_after(self) -> None:
        """A socket that the loop has closed has no number any more."""
        self._open = {one: by for one, by in self._open.items() if one.fileno() >= 0}

    def renew(self) -> None:
        """Take up certificates and lists that changed; a client that may not stay is cut off."""
        admits = self._tls.renew() if self._tls else None
        for transport in self._open.values() if admits else ():
            if transport and admits and not admits(transport):
                transport.abort()

    def _listen_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(listening, error)
                return
            self._take(accepted)

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        """Whoever connects waits in the kernel; else it would call at once again."""
        log.error("%s: no connection is accepted: %s", self._what, error.strerror)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(_PAUSE_S, self._listen_on, listening)

    def _take(self, accepted: socket.socket) -> None:
        if not self._has_room():
            self._without_room += 1
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            accepted.close()
            return
        accepted.setblocking(False)
        self._open[accepted] = None
        task = asyncio.get_running_loop().create_task(self._connect(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _has_room(self) -> bool:
        if self.count < self.most and self._handles.are_left:
            return True
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_EVERY_S:
            return False
        self._looked_s = now_s
        self._handles.look_after()
        return self.count < self.most and self._handles.are_left

    async def _connect(self, accepted: socket.socket) -> None:
        context = self._tls.context if self._tls else None
        try:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                accepted,
                ssl=context,
                ssl_handshake_timeout=_HANDSHAKE_S if self._tls else None,
            )
        except (OSError, TimeoutError):  # no TLS, no certificate, no patience
            accepted.close()
            return
        if self._tls and self._tls.context is not context:
            transport.abort()  # what counted when its handshake began counts no more
        elif accepted in self._open:
            self._open[accepted] = transport


def _listening(family: int, address: tuple[Any, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    made.setblocking(False)
    return made


def _raised_limit() -> int:
    """As many open files as the process may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20
