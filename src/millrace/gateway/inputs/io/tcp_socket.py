"""What the kernel knows of a device's TCP connection."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import NamedTuple

_IDLE_S, _INTERVAL_S, _PROBES = 30, 10, 3
# Of the kernel's `struct tcp_info`: its first byte, and when something was last acknowledged.
_INFO_BYTES, _ACKNOWLEDGED_AT = 60, 56
_ESTABLISHED = 1


class Sign(NamedTuple):
    """Of life at the other end."""

    # Neither end has said that it has finished.
    is_open: bool
    silent_s: float


def keep_alive(
    transport: asyncio.BaseTransport, idle_s: int = _IDLE_S, interval_s: int = _INTERVAL_S
) -> None:
    """A device that went without a farewell makes room within a minute."""
    connected: socket.socket = transport.get_extra_info("socket")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, interval_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle_s)


def sign_of(transport: asyncio.BaseTransport) -> Sign:
    """The other end's machine acknowledges also what its program does not read."""
    connected: socket.socket = transport.get_extra_info("socket")
    info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    (silent_ms,) = struct.unpack_from("=I", info, _ACKNOWLEDGED_AT)
    return Sign(info[0] == _ESTABLISHED, silent_ms / 1000)
