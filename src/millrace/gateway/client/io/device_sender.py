"""Sends messages to a site's gateway, as `Sender` sends them to its broker."""

from __future__ import annotations

from millrace.gateway.client.io.device import Address, Device
from millrace.kafka.io.client_errors import SiteError, UnreachableError


class DeviceSender:
    """`key_mark` stands between a message's key and the message."""

    def __init__(self, site: str, address: Address, name: str, key_mark: bytes) -> None:
        self._site = site
        self._device = Device(address, name)
        self._key_mark = key_mark

    @property
    def delivered(self) -> int:
        return self._device.delivered

    @property
    def outstanding(self) -> int:
        return self._device.outstanding

    @property
    def room(self) -> int:
        return self._device.room

    def trouble(self) -> SiteError:
        return UnreachableError(self._site, self._device.trouble or "its gateway has not answered")

    def find_obstacle(self) -> SiteError | None:
        """A gateway takes what comes, whether its topic is there by now or not."""
        self._device.poll(0)
        return self.trouble() if self._device.trouble else None

    def send(self, key: bytes, value: bytes) -> None:
        self._device.send(key + self._key_mark + value)

    def poll(self, timeout_s: float) -> None:
        self._device.poll(timeout_s)
