"""Disks that are full, that forget, and whose machine loses its power."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.machine import Disk
from benchmarks.faults.stands.stand import Stand
from millrace.gateway.spool.core.records import decode_at
from millrace.gateway.spool.core.segments import heading_bytes
from tests.support import wait_until

_SMALL = {"spool": {"size": "1 GB", "segment": "4 MB"}}


def _disk(stand: Stand) -> Disk:
    assert stand.disk  # noqa: S101 - it was asked for beside the fault
    return stand.disk


@fault("disk-full", "the disk of the gateway filled to the last byte for 10 s",
       settings=_SMALL, gateway_disk_mb=64)  # fmt: skip
def disk_full(stand: Stand) -> None:
    _disk(stand).fill()
    stand.pass_s(10)
    _disk(stand).free()


@fault("disk-full-broker-away", "the same while the broker stands still (`SIGSTOP`), so that the"
       " spool cannot shrink: until the gateway takes no more, and 5 s longer",
       settings=_SMALL, gateway_disk_mb=64)  # fmt: skip
def disk_full_broker_away(stand: Stand) -> None:
    stand.site.freeze()
    _disk(stand).fill()
    wait_until(lambda: "no room" in stand.gateway.log, 60, "the gateway without room")
    stand.pass_s(5)
    stand.site.thaw()
    _disk(stand).free()


@fault("gateway-power-loss", "the gateway's file system shut down without a flush (ioctl"
       " `FS_IOC_SHUTDOWN`: what is not synced is gone), `kill -9`, mounted and started again;"
       " three times", gateway_disk_mb=512)  # fmt: skip
def gateway_power_loss(stand: Stand) -> None:
    for _ in range(3):
        _disk(stand).lose_power()
        stand.gateway.stop(signal.SIGKILL)
        _disk(stand).come_back()
        stand.gateway.start()
        stand.pass_s(1)


@fault("broker-power-loss", "the same of the one broker's file system; twice", broker_disk_mb=1024)
def broker_power_loss(stand: Stand) -> None:
    for last in (False, True):
        _disk(stand).lose_power()
        stand.site.stop(signal.SIGKILL)
        _disk(stand).come_back()
        stand.site.start()
        if not last:
            wait_until(lambda: "Kafka Server started" in stand.site.log, 60, "the broker up")
            stand.pass_s(5)


@fault("spool-corrupted", "the broker away, the gateway killed, 40 bytes in the middle of a segment"
       " of its spool overwritten, all started again", settings=_SMALL)  # fmt: skip
def spool_corrupted(stand: Stand) -> None:
    stand.site.freeze()
    spool = stand.gateway.folder / "data" / "lines" / "spool"
    wait_until(lambda: len(list(spool.glob("*.spool"))) > 3, 60, "some segments waiting")
    stand.gateway.stop(signal.SIGKILL)
    stand.destroyed = _damage(sorted(spool.glob("*.spool"))[-2])
    stand.gateway.start()
    stand.site.thaw()
    wait_until(lambda: "are damaged, and lost" in stand.gateway.log, 60, "the damage told of")


def _damage(segment: Path) -> set[tuple[str, int]]:
    """The messages whose bytes are gone."""
    data = segment.read_bytes()
    begin, end = len(data) // 2, len(data) // 2 + 40
    hit, at = set(), heading_bytes(data)
    while found := decode_at(data, at):
        record, following = found
        if at < end and following > begin:
            message = json.loads(record.draft.value)
            hit.add((message["id"], message["n"]))
        at = following
    with segment.open("r+b") as file:
        os.pwrite(file.fileno(), b"\xff" * (end - begin), begin)
    return hit
