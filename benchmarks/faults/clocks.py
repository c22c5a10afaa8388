"""A gateway whose machine's clock is set while it runs; time passes as ever, but is told wrongly.

`clock.c` says how. libfaketime does not do: it moves the moment until which librdkafka waits, and
not the wait, so that each wait takes an hour more.
"""

from __future__ import annotations

import struct
from pathlib import Path

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.machine import run
from benchmarks.faults.stands.stand import Stand

_SOURCE = Path(__file__).with_name("clock.c")
_HOUR_S = 3_600
_MONTH_S = 30 * 24 * _HOUR_S


class Clock:
    """Of a stand's gateway, from its next start on."""

    def __init__(self, stand: Stand) -> None:
        folder = stand.gateway.folder
        library, self._told = folder / "clock.so", folder / "clock"
        run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", str(library), str(_SOURCE))
        self.set(0)
        stand.gateway.environment |= {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._told)}

    def set(self, offset_s: int) -> None:
        """In place: the file is mapped into the process."""
        self._told.touch()
        with self._told.open("r+b") as file:
            file.write(struct.pack("@l", offset_s))


def _jump(stand: Stand, offset_s: int) -> None:
    clock = Clock(stand)
    stand.restart_gateway()
    stand.pass_s(4)
    clock.set(offset_s)
    stand.pass_s(10)
    stand.restart_gateway()
    stand.pass_s(6)
    clock.set(0)


@fault("clock-forward", "the gateway's clock set an hour ahead, the gateway killed and started 10 s"
       " later, the clock set back")  # fmt: skip
def clock_forward(stand: Stand) -> None:
    _jump(stand, _HOUR_S)


@fault("clock-back", "the same, an hour behind")
def clock_back(stand: Stand) -> None:
    # A little less: a certificate of this minute is valid since an hour ago.
    _jump(stand, 60 - _HOUR_S)


@fault("clock-month-ahead", "the broker away, the gateway killed, started with its clock a month"
       " ahead (`spool.age` an hour, `drop_oldest`); 10 s later the broker back and the clock set"
       " right",
       settings={"spool": {"age": "1 hour"}, "at_bound": "drop_oldest"})  # fmt: skip
def clock_month_ahead(stand: Stand) -> None:
    clock = Clock(stand)
    stand.restart_gateway()
    stand.pass_s(3)
    stand.site.freeze()
    stand.stack.callback(stand.site.thaw)
    stand.pass_s(3)
    clock.set(_MONTH_S)
    stand.restart_gateway()
    stand.pass_s(10)
    stand.site.thaw()
    clock.set(0)
