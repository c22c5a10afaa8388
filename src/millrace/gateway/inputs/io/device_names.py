"""Which connection speaks for which device.

Two devices with one name would count each other's messages: what is safe of the one would be taken
for the other's, and never sent. So a name is held by one connection. Another that says it has to
wait until it is clear whether the holder is still there: the holder's machine is asked, by the
kernel, for a sign of life. A holder that gives none, as after a cut, is the same device's old
connection, and gives way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from millrace.gateway.inputs.core.contested import Contested
from millrace.gateway.inputs.io.tcp_socket import keep_alive, sign_of

log = logging.getLogger(__name__)
_ASK_EVERY_S = 1
_LOOK_EVERY_S = 0.05
# Without a sign for so long, though it was asked twice, nobody is there.
_GIVEN_UP_S = 3.0
# A device that has gone may have left messages, and its farewell behind them, on their way: so long
# a holder is read before it counts as one that stays.
_PATIENT_S = 5.0


class Holder(Protocol):
    @property
    def transport(self) -> asyncio.Transport | None:
        """None: its connection has ended."""
        ...

    @property
    def is_paused(self) -> bool:
        """It is not read, so that nobody could see its farewell."""
        ...


class Names:
    """Of one input; used by the event loop alone."""

    def __init__(self, input_name: str, contested: Contested) -> None:
        self._input = input_name
        self._contested = contested
        self._held: dict[str, Holder] = {}

    def hold(self, name: str, holder: Holder) -> bool:
        """False: another connection has it."""
        return self._held.setdefault(name, holder) is holder

    def let_go(self, name: str, holder: Holder) -> None:
        if self._held.get(name) is holder:
            del self._held[name]

    async def contend(self, name: str, holder: Holder) -> bool:
        """Whether it holds the name in the end, as whoever had it is gone."""
        while not self.hold(name, holder):
            older = self._held[name]
            if await _is_alive(older):
                self._tell(name)
                return False
            self.let_go(name, older)
        return True

    def _tell(self, name: str) -> None:
        if self._contested.note(name, time.monotonic()):
            log.warning("%s: two devices say HELLO %s; the second is refused", self._input, name)


async def _is_alive(holder: Holder) -> bool:
    """One that is not is ended."""
    asked_s = read_since_s = time.monotonic()
    if holder.transport:
        keep_alive(holder.transport, _ASK_EVERY_S, _ASK_EVERY_S)
    while transport := holder.transport:
        now_s, sign = time.monotonic(), sign_of(transport)
        is_silent = min(sign.silent_s, now_s - asked_s) > _GIVEN_UP_S
        if is_silent or not sign.is_open or transport.is_closing():
            transport.abort()
            return False
        if holder.is_paused:
            read_since_s = now_s
        if now_s - read_since_s > _PATIENT_S:
            keep_alive(transport)
            return True
        await asyncio.sleep(_LOOK_EVERY_S)
    return False
