"""Devices that send numbered messages at a steady pace, whatever happens to the gateway."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from benchmarks.faults.stands.tally import Message
from millrace.gateway.client.io.device import Address, Device

DEVICES, KEYS_EACH = 3, 2
RATE_PER_S = 3_000
_POLL_S = 0.01


class PacedDevice(threading.Thread):
    def __init__(self, number: int, address: Address) -> None:
        super().__init__(name=f"device-{number}", daemon=True)
        self.device = Device(address, f"device-{number}")
        self.keys = [f"d{number}k{key}" for key in range(KEYS_EACH)]
        self.made = 0
        self._ending = threading.Event()

    def sent(self) -> Iterator[tuple[str, int]]:
        for place, key in enumerate(self.keys):
            yield key, len(range(place, self.made, KEYS_EACH))

    def end(self) -> None:
        self._ending.set()

    def run(self) -> None:
        """Until what was made is safe; a message is dated as of when it was due."""
        rate = RATE_PER_S / DEVICES
        began_s = time.monotonic()
        while not self._ending.is_set():
            due = int((time.monotonic() - began_s) * rate)
            for _ in range(min(due - self.made, self.device.room)):
                self.device.send(self._message(began_s + self.made / rate))
                self.made += 1
            self.device.poll(_POLL_S)
        while self.device.outstanding:
            self.device.poll(_POLL_S)
        self.device.close()

    def _message(self, due_s: float) -> bytes:
        key = self.keys[self.made % KEYS_EACH]
        return b'{"id":"%s","n":%d,"t":%.4f}' % (key.encode(), self.made // KEYS_EACH, due_s)


class Load:
    def __init__(self, address: Address) -> None:
        self.devices = [PacedDevice(number, address) for number in range(DEVICES)]

    @property
    def keys(self) -> list[str]:
        return [key for one in self.devices for key in one.keys]

    @property
    def sent(self) -> dict[str, int]:
        return dict(pair for one in self.devices for pair in one.sent())

    def start(self) -> None:
        for one in self.devices:
            one.start()

    def finish(self, timeout_s: float) -> None:
        for one in self.devices:
            one.end()
        deadline_s = time.monotonic() + timeout_s
        for one in self.devices:
            one.join(max(0.0, deadline_s - time.monotonic()))
            if one.is_alive():
                trouble = one.device.trouble or "no answer"
                raise TimeoutError(f"{one.name} still has {one.device.outstanding}: {trouble}")


def parse(value: bytes | None) -> Message | None:
    """None: it is not of this load."""
    if not value or not value.startswith(b'{"id":"d') or not value.endswith(b"}"):
        return None
    key, number, due_s = value[7:-1].split(b",")
    return Message(key[:-1].decode(), int(number[4:]), float(due_s[4:]))
