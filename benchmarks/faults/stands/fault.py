"""A fault as it is asked for, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.faults.stands.tally import Count

if TYPE_CHECKING:
    from benchmarks.faults.stands.stand import Arena, Stand

Make = Callable[["Stand"], None]
Whole = Callable[["Arena", "Fault"], "Outcome"]


@dataclass(frozen=True)
class Fault:
    name: str
    # How it is made, for the page.
    how: str
    # Does it beneath a load on a gateway; returns in the moment in which its cause is gone.
    make: Make | None = None
    # Or brings a load and a count of its own.
    whole: Whole | None = None
    # The module that it is of.
    group: str = ""
    # More of the input in the gateway's file, and of its process's environment.
    settings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    # Whose folder is on a disk of its own of so many MB.
    gateway_disk_mb: int = 0
    broker_disk_mb: int = 0


@dataclass(frozen=True)
class Outcome:
    name: str
    how: str
    sent: int = 0
    count: Count | None = None
    destroyed: int = 0
    recovery_s: float = 0.0
    # None: nobody read all the time.
    silence_s: float | None = None
    seen: tuple[str, ...] = ()
    # Why it could not be made or did not end.
    problem: str = ""
    # It is not this machine's fault or the product's: it needs rights that are not there.
    is_impossible: bool = False

    @property
    def holds(self) -> bool:
        return self.is_impossible or (not self.problem and self.count == Count(0, 0, 0))


FAULTS: list[Fault] = []


def fault(name: str, how: str, **more: Any) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        FAULTS.append(Fault(name, how, make, group=make.__module__, **more))
        return make

    return register


def whole_fault(name: str, how: str) -> Callable[[Whole], Whole]:
    def register(whole: Whole) -> Whole:
        FAULTS.append(Fault(name, how, whole=whole, group=whole.__module__))
        return whole

    return register
