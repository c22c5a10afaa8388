"""What readers, writer and heartbeat share: how far everything is, and what has stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Position
from millrace.relay.core.relay_plan import Halt
from millrace.relay.core.start import Renewal


class RelayLedger:
    """Positions are those that the target has committed."""

    def __init__(
        self,
        stored: Mapping[Part, Position],
        on_halt: Callable[[Halt], None],
        on_renewal: Callable[[Renewal], None],
    ) -> None:
        self._positions = dict(stored)
        self._halts: dict[Part, Halt] = {}
        self._renewals: dict[tuple[str, str], Renewal] = {}
        self._on_halt, self._on_renewal = on_halt, on_renewal

    def position(self, part: Part) -> Position | None:
        return self._positions.get(part)

    def of_topic(self, site: str, topic: str) -> dict[int, Position]:
        known = list(self._positions.items())
        return {part.partition: one for part, one in known if part[:2] == (site, topic)}

    def advance(self, positions: Mapping[Part, Position]) -> None:
        self._positions.update(positions)

    def halt(self, halt: Halt) -> None:
        if halt.part not in self._halts:
            self._halts[halt.part] = halt
            self._on_halt(halt)

    def is_halted(self, part: Part) -> bool:
        return part in self._halts

    def renew(self, renewal: Renewal) -> None:
        """What halted in the old topic is not halted in the new one."""
        place = renewal.site, renewal.topic
        known = self._renewals.get(place)
        if known and known.topic_id == renewal.topic_id:
            return
        self._renewals[place] = renewal
        self._halts = {part: halt for part, halt in self._halts.items() if part[:2] != place}
        self._on_renewal(renewal)

    @property
    def renewals(self) -> tuple[Renewal, ...]:
        return tuple(self._renewals[place] for place in sorted(self._renewals))

    @property
    def halts(self) -> tuple[Halt, ...]:
        return tuple(self._halts[part] for part in sorted(self._halts))
