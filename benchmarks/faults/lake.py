"""The machine of the lake loses its power beneath a job that writes to a folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from deltalake import DeltaTable

from benchmarks.faults.stands.fault import Fault, Outcome, whole_fault
from benchmarks.faults.stands.job_stand import PARTITIONS, driver_of, load_of, start_gateway
from benchmarks.faults.stands.load import RATE_PER_S
from benchmarks.faults.stands.machine import Disk
from benchmarks.faults.stands.verified import verify, words
from benchmarks.faults.tables import doubled_in, in_silver
from millrace.platform.core.platform import Platform
from millrace.repair.core.verify_spec import ContinuityResult
from millrace.settings.core.engine import Tables
from tests.integration.conftest import RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import wait_until

if TYPE_CHECKING:
    from benchmarks.faults.stands.stand import Arena

_CUTS, _BATCHES_BEFORE = 3, 2
_DISK_MB, _DRAINS_S = 1024, 600.0


class _Versions(NamedTuple):
    bronze: int
    silver: int

    @classmethod
    def of(cls, tables: Tables) -> _Versions:
        """What a reader can see now."""
        return cls(DeltaTable(tables.bronze).version(), DeltaTable(tables.silver).version())


@dataclass
class _Machine:
    """Tables, checkpoint and all else that the job keeps are on one disk."""

    disk: Disk
    driver: IngestDriver
    # Versions that a reader had seen, and that were not there any more.
    gone: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.driver.start()
        wait_until(self.driver.is_running, START_TIMEOUT_S, "the job running")

    def lose_power(self) -> None:
        before = _Versions.of(self.driver.job.tables)
        self.disk.lose_power()
        self.driver.clean_up()
        self.disk.come_back()
        after = _Versions.of(self.driver.job.tables)
        if any(now < then for then, now in zip(before, after, strict=True)):
            self.gone.append(f"{after} after {before}")

    def await_batches(self, count: int) -> None:
        last = self.driver.checkpoint.last_commit() + count
        wait_until(lambda: self.driver.checkpoint.last_commit() >= last, START_TIMEOUT_S, "batches")

    def is_fresh(self) -> bool:
        """What waits is less than a second of the load."""
        beat = self.driver.beat()
        return beat is not None and all(0 <= s.lag_records < RATE_PER_S for s in beat.sites)


@whole_fault(
    "lake-power-loss",
    "a job from broker to silver, its tables and its checkpoint in a folder: that file system shut"
    " down without a flush (ioctl `FS_IOC_SHUTDOWN`), `kill -9` of the job, mounted and started"
    f" again; {_CUTS} times, at random moments of its batches",
)
def lake_power_loss(arena: Arena, asked: Fault) -> Outcome:
    with ExitStack() as stack:
        site = arena.shared
        site.add_topic(asked.name, PARTITIONS)
        machine = _machine(stack, site, asked.name)
        load = load_of(site, start_gateway(stack, site, asked))
        load.start()
        _cut(machine)
        begun_s = time.monotonic()
        machine.start()
        wait_until(machine.is_fresh, _DRAINS_S, "fresh again")
        recovery_s = time.monotonic() - begun_s
        load.finish(_DRAINS_S)
        return _judged(asked, machine, load.sent, recovery_s)


def _machine(stack: ExitStack, site: RunningSite, name: str) -> _Machine:
    disk = Disk(site.layout.home / "lake", _DISK_MB)
    stack.callback(disk.close)
    layout = Platform(disk.folder)
    layout.var.mkdir()
    (disk.folder / ".jars").symlink_to(site.layout.home / ".jars")
    for part in (site.layout.secrets, site.layout.pki):
        (layout.var / part.name).symlink_to(part)
    driver = driver_of(site, layout, name)
    stack.callback(driver.clean_up)
    return _Machine(disk, driver)


def _cut(machine: _Machine) -> None:
    chance = Random(7)  # noqa: S311 - the same moments each time
    for _ in range(_CUTS):
        machine.start()
        machine.await_batches(_BATCHES_BEFORE)
        time.sleep(chance.uniform(0, 1))
        machine.lose_power()


def _judged(asked: Fault, machine: _Machine, sent: dict[str, int], recovery_s: float) -> Outcome:
    driver, total = machine.driver, sum(sent.values())
    tables, deadline_s = driver.job.tables, time.monotonic() + _DRAINS_S
    # What does not come is found missing below.
    while DeltaTable(tables.silver).count() < total and time.monotonic() < deadline_s:
        time.sleep(0.5)
    driver.stop()
    found = verify(driver.job)
    return Outcome(
        asked.name,
        asked.how,
        sent=total,
        count=in_silver(tables.silver).judge(sent).worst(doubled_in(tables.bronze)),
        recovery_s=recovery_s,
        seen=tuple(words(found)),
        problem="; ".join(_problems(machine, found)),
    )


def _problems(machine: _Machine, found: ContinuityResult) -> Iterator[str]:
    yield from (f"versions that a reader had seen are gone: {one}" for one in machine.gone)
    if found.alarms:
        yield from words(found)
