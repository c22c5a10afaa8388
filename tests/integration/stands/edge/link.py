"""A link that can be cut: nothing passes, nobody is told, and what was on its way comes later."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from tests.support import free_ports

_CHUNK = 65_536


class Link:
    """Forwards a port of this machine to another, until it is cut."""

    def __init__(self, target: int) -> None:
        self.port = free_ports(1)
        self._target = target
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._whole.set()
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._whole.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        self._ends += [near, far]
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(_CHUNK):
                self._whole.wait()
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
