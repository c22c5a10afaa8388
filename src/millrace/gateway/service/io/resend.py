"""Sends dead letters again, by a link of its own, when an operator has asked for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.delivery.io.dead_letters import ASKED, RETURNED, DeadLetters
from millrace.gateway.delivery.io.deliverer import Delivery
from millrace.gateway.delivery.io.letter_box import LetterBox, Returned
from millrace.gateway.delivery.io.link import Link
from millrace.gateway.delivery.io.progress_file import ProgressFile
from millrace.gateway.routes.io.routing import Router
from millrace.gateway.spec.core.gateway_file import Input

log = logging.getLogger(__name__)
_AGAIN = "again"
# A topic that refuses for so long does so for good: its letters are dead letters again.
_PATIENCE_S = 60.0


def ask_for(folder: Path) -> int:
    """How many dead letters of an input a gateway sends again, now or when it starts."""
    letters = DeadLetters(folder, 0, 0, looks_only=True)
    if letters.count:
        (folder / ASKED).touch(mode=0o600)
    return letters.count


class Resend:
    """Of one input."""

    def __init__(
        self,
        site: str,
        spec: Input,
        folder: Path,
        letters: DeadLetters,
        connect: Callable[[], Link],
    ) -> None:
        self._site = site
        self._spec = spec
        self._folder = folder
        self._file = folder / RETURNED
        self._letters = letters
        self._connect = connect
        self._boxes: list[LetterBox] = []
        self.delivery: Delivery | None = None

    @property
    def waiting(self) -> int:
        """How many letters are on their way."""
        couriers = self.delivery.forwarder.couriers if self.delivery else ()
        return sum(courier.waiting for courier in couriers)

    def look_after(self) -> None:
        """Not in the event loop: it reads the whole file."""
        if self.delivery is None:
            if self._file.exists():
                self._start()
        elif not self.delivery.is_alive() and not self.delivery.failure and not self.waiting:
            self._finish()

    def end(self, grace_s: float) -> None:
        """What is not sent again by then is with the next start."""
        if self.delivery:
            self.delivery.end(grace_s)

    def _start(self) -> None:
        router = Router(self._spec.topic, None)
        own = LetterBox(self._file)
        routed = LetterBox(self._file, lambda value: router.draft(value).topic)
        name = self._spec.name
        self._boxes = [own, routed]
        couriers = [self._courier(name, own), self._courier(f"{name}/{_AGAIN}", routed)]
        topics = {courier.name: self._spec.topics for courier in couriers}
        log.info("%s: %s dead letters are sent again", name, own.next_index + routed.next_index)
        resend = f"resend of {name}"
        self.delivery = Delivery(resend, couriers, topics, self._connect, _PATIENCE_S)
        self.delivery.end_when_done()
        self.delivery.start()

    def _courier(self, name: str, box: LetterBox) -> Courier:
        kind = "own" if name == self._spec.name else _AGAIN
        store = ProgressFile(self._folder / f"{RETURNED}.{box.epoch}.{kind}")
        box.seek(store.read().base)
        return Courier(self._site, name, box, box, store, Returned(self._letters, box))

    def _finish(self) -> None:
        if any(box.damaged_bytes for box in self._boxes):
            self._file.rename(self._file.with_name(f"resent-{self._boxes[0].epoch}.jsonl"))
        else:
            self._file.unlink()
        for progress in self._folder.glob(f"{RETURNED}.*"):
            progress.unlink()
        log.info("%s: all dead letters were sent again, or refused again", self._spec.name)
        self.delivery = None
