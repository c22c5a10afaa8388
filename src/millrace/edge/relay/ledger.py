"""What readers, writer and heartbeat share: how far everything is, and what has stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millrace.core.coordinates import Part
from millrace.core.relay_plan import Halt


class Ledger:
    """Positions are those that the target has committed."""

    def __init__(self, stored: Mapping[Part, int], on_halt: Callable[[Halt], None]) -> None:
        self._positions = dict(stored)
        self._halts: dict[Part, Halt] = {}
        self._on_halt = on_halt

    def position(self, part: Part) -> int | None:
        return self._positions.get(part)

    def advance(self, positions: Mapping[Part, int]) -> None:
        self._positions.update(positions)

    def halt(self, halt: Halt) -> None:
        if halt.part not in self._halts:
            self._halts[halt.part] = halt
            self._on_halt(halt)

    def is_halted(self, part: Part) -> bool:
        return part in self._halts

    @property
    def halts(self) -> tuple[Halt, ...]:
        return tuple(self._halts[part] for part in sorted(self._halts))
