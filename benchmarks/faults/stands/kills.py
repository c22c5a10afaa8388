"""Processes that end without a word."""

from __future__ import annotations

import random
import signal

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.stand import Stand

_KILLS = 6


@fault("broker-killed", "`kill -9` of the site's one broker; started again 3 s later")
def broker_killed(stand: Stand) -> None:
    stand.site.stop(signal.SIGKILL)
    stand.pass_s(3)
    stand.site.start()


@fault("gateway-killed", f"`kill -9` of the gateway, {_KILLS} times at random moments of its work")
def gateway_killed(stand: Stand) -> None:
    chance = random.Random(7)  # noqa: S311 - the same moments each time
    for _ in range(_KILLS):
        stand.restart_gateway()
        stand.pass_s(chance.uniform(0.05, 1.0))


@fault("both-killed", "`kill -9` of broker and gateway; the gateway killed again without a broker")
def both_killed(stand: Stand) -> None:
    stand.site.stop(signal.SIGKILL)
    stand.restart_gateway()
    stand.pass_s(2)
    stand.restart_gateway()
    stand.site.start()
