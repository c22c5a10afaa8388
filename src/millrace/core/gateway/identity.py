"""By what a message of a gateway is known for ever: headers that go with it to the broker."""

from __future__ import annotations

from millrace.core.continuity import EPOCH, PRODUCER, SEQUENCE
from millrace.core.gateway.numbers import whole_number

SITE = "millrace-site"
Headers = list[tuple[str, str | bytes | None]]


class Identity:
    """Of the messages of one spool to one topic: a producer that counts what it sends."""

    def __init__(self, site: str, input_name: str, topic: str, epoch: int) -> None:
        self._producer = f"{site}/{input_name}/{topic}".encode()
        self._epoch = b"%d" % epoch
        self._fixed: Headers = [
            (SITE, site.encode()),
            (PRODUCER, self._producer),
            (EPOCH, self._epoch),
        ]

    def headers(self, number: int) -> Headers:
        return [*self._fixed, (SEQUENCE, b"%d" % number)]

    def number_in(self, headers: Headers) -> int | None:
        """Of a message at the broker, where it is one of these."""
        found = dict(headers)
        if found.get(PRODUCER) != self._producer or found.get(EPOCH) != self._epoch:
            return None
        return whole_number(found.get(SEQUENCE) or b"")
