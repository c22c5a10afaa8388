"""A relay as a process that a test may kill, or that kills itself: in a step of its own choice."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from millrace.base.model import Frozen
from millrace.gateway.simulator.io.simulator import stop_on_signals
from millrace.kafka.core.coordinates import Part
from millrace.relay.core.beat import RelayBeat
from millrace.relay.core.positions import Position
from millrace.relay.core.relay_plan import Halt
from millrace.relay.core.spec import RelaySpec
from millrace.relay.core.start import Renewal
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.inbox import RelayedBatch
from millrace.relay.io.relay_run import Relay
from millrace.relay.io.target import Target
from millrace.sites.core.spec import ClientSettings, SiteSpec
from millrace.storage.io.files import write_atomic

# In the order of a transaction. `committing`: while the commit is on its way.
STEPS = ("begun", "half produced", "produced", "noted", "committing", "committed")


class Way(Frozen):
    cluster: SiteSpec
    settings: ClientSettings

    @property
    def door(self) -> Door:
        return Door(self.cluster, self.settings, login=dict)


class Order(Frozen):
    relay: RelaySpec
    sources: tuple[Way, ...]
    target: Way
    beat: Path
    # Where to die, in which transaction with records.
    step: str = ""
    transaction: int = 3
    after_ms: float = 0


class Mortal(Target):
    """Does what a target does, and dies where it was told to."""

    order: Order

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._count = 0

    def begin(self) -> None:
        super().begin()
        self._count += 1
        self._die_at("begun")

    def produce(self, batch: RelayedBatch) -> dict[Part, Position]:
        whole = batch.messages
        if self._is_now("half produced") and len(whole) > 1:
            super().produce(replace(batch, messages=whole[: len(whole) // 2]))
            self._producer.poll(0.2)  # some of it gets there
            die()
        return super().produce(batch)

    def note(self, positions: Mapping[Part, Position]) -> None:
        self._die_at("produced")
        super().note(positions)
        self._die_at("noted")

    def commit(self) -> None:
        if self._is_now("committing"):
            threading.Timer(self.order.after_ms / 1000, die).start()
        super().commit()
        self._die_at("committed")

    def _die_at(self, step: str) -> None:
        if self._is_now(step):
            die()

    def _is_now(self, step: str) -> bool:
        return step == self.order.step and self._count >= self.order.transaction


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(file: Path) -> None:
    order = Order.model_validate_json(file.read_text())
    Mortal.order = order
    beat = partial(_write, order.beat)
    relay = Relay(
        order.relay,
        [way.door for way in order.sources],
        order.target.door,
        stop=stop_on_signals(),
        publish=beat,
        on_halt=_say_halt,
        on_renewal=_say_renewal,
        say=_say,
        make_target=Mortal,
    )
    relay.run()


def _write(file: Path, beat: RelayBeat) -> None:
    write_atomic(file, beat.model_dump_json())


def _say_halt(halt: Halt) -> None:
    _say(halt.text)


def _say_renewal(renewal: Renewal) -> None:
    _say(renewal.text)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
