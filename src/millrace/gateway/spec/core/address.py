"""Where something listens, or is reached."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _check_listen(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(f"{text!r} is not host:port; write such as '0.0.0.0:7001'")
    return text


Listen = Annotated[str, AfterValidator(_check_listen)]


def host_port(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)
