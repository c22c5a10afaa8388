"""A link between gateway and broker, or devices and gateway, that is cut, slow, dead or unsteady.

The reader comes by another port of the broker, which none of this touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.machine import clients_of, drop, hang_up, rule
from benchmarks.faults.stands.stand import Stand


def _both_ways(port: int, peers: list[int]) -> list[str]:
    listed = ", ".join(map(str, peers))
    return [
        f"tcp dport {port} tcp sport {{ {listed} }} drop",
        f"tcp sport {port} tcp dport {{ {listed} }} drop",
    ]


@contextmanager
def _half_open(port: int) -> Iterator[None]:
    """The connections of now lead nowhere, and nobody is told; new ones are well."""
    with rule(*_both_ways(port, clients_of(port))):
        yield


def _flap(stand: Stand, port: int) -> None:
    for turn in range(15):
        cut = (hang_up(port),) if turn % 3 == 0 else drop(port)
        with rule(*cut):
            stand.pass_s(0.5)
        stand.pass_s(0.5)


@fault("link-cut", "gateway to broker: all packets dropped for 30 s (nftables), nobody is told")
def link_cut(stand: Stand) -> None:
    with rule(*drop(stand.broker_port)):
        stand.pass_s(30)


@fault("link-slow", "gateway to broker: 10 KB/s and bursts of 70 KB (nftables drops the rest),"
       " less than what comes, for 20 s")  # fmt: skip
def link_slow(stand: Stand) -> None:
    limit = "limit rate over 10 kbytes/second burst 70 kbytes drop"
    with rule(f"tcp dport {stand.broker_port} {limit}"):
        stand.pass_s(20)


@fault("link-half-open", "gateway to broker: the connections that are open lead nowhere, for as"
       " long as it takes; new ones are well")  # fmt: skip
def link_half_open(stand: Stand) -> None:
    _until_well(stand, stand.broker_port)


@fault("link-flapping", "gateway to broker: half a second dropped or reset, half a second well,"
       " 15 times")  # fmt: skip
def link_flapping(stand: Stand) -> None:
    _flap(stand, stand.broker_port)


@fault("devices-cut", "devices to gateway: all packets dropped for 30 s")
def devices_cut(stand: Stand) -> None:
    with rule(*drop(stand.gateway.port)):
        stand.pass_s(30)


@fault("devices-half-open", "devices to gateway: the connections that are open lead nowhere, for"
       " as long as it takes; new ones are well")  # fmt: skip
def devices_half_open(stand: Stand) -> None:
    _until_well(stand, stand.gateway.port)


@fault("devices-flapping", "devices to gateway: half a second dropped or reset, half a second"
       " well, 15 times")  # fmt: skip
def devices_flapping(stand: Stand) -> None:
    _flap(stand, stand.gateway.port)


def _until_well(stand: Stand, port: int) -> None:
    """The cause does not go: what is measured is how long it takes to be noticed."""
    stand.stack.enter_context(_half_open(port))
