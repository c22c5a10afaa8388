"""What a link holds in memory while its broker takes nothing."""

from __future__ import annotations

import pytest

from millrace.gateway.delivery.io.link import Link
from millrace.sites.core.spec import SiteSpec

NOBODY = "127.0.0.1:1"


def send(link: Link, count: int, message: bytes) -> None:
    for _ in range(count):
        link.produce("t", None, message, [], lambda *_: None)


def test_a_link_holds_128_mb_of_messages_at_most():
    link = Link(SiteSpec(name="plant-a", bootstrap=NOBODY), {"bootstrap.servers": NOBODY}, dict)
    message = bytes(900_000)
    send(link, 140, message)
    with pytest.raises(BufferError):
        send(link, 10, message)
    link.close()
