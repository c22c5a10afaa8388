"""By what a message of a gateway is known for ever: headers that go with it to the broker."""

from __future__ import annotations

from millrace.base.whole_numbers import whole_number
from millrace.kafka.core.header_names import EPOCH, PRODUCER, SEQUENCE

SITE = "millrace-site"
Headers = list[tuple[str, str | bytes | None]]
# A message at the broker: its headers, and what it holds, as `content_of` says it.
Found = tuple[Headers, int]


class Identity:
    """Of the messages of one input to one topic: a producer that counts what it sends."""

    def __init__(self, site: str, input_name: str, topic: str) -> None:
        self._site = site.encode()
        self._producer = f"{site}/{input_name}/{topic}".encode()
        self._epoch = -1
        self._fixed: Headers = []

    def headers(self, epoch: int, number: int) -> Headers:
        if epoch != self._epoch:
            self._epoch = epoch
            self._fixed = [
                (SITE, self._site),
                (PRODUCER, self._producer),
                (EPOCH, b"%d" % epoch),
            ]
        return [*self._fixed, (SEQUENCE, b"%d" % number)]

    def found_in(self, headers: Headers) -> tuple[int, int] | None:
        """Epoch and number of a message at the broker, where it is one of these."""
        found = dict(headers)
        if found.get(PRODUCER) != self._producer:
            return None
        epoch, number = (whole_number(found.get(name) or b"") for name in (EPOCH, SEQUENCE))
        return None if epoch is None or number is None else (epoch, number)


def new_epoch(now_s: int, chance: int, before: int = -1) -> int:
    """Above `before`; by its time it grows, by chance no other life has it, whatever its clock."""
    seconds = max(now_s % (1 << 32), (before >> 31) + 1)
    return min(seconds, (1 << 32) - 1) << 31 | chance % (1 << 31)


def content_of(key: bytes | None, value: bytes | None) -> int:
    """The same for the same message, within this process."""
    return hash((key or b"", value or b""))
