"""Brings what the spools hold to the broker, in order, through whatever happens to it."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from millrace.gateway.delivery.core.silence import describe_silence
from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.delivery.io.forwarder import Forwarder
from millrace.gateway.delivery.io.link import Link
from millrace.kafka.io.client_errors import SiteError

log = logging.getLogger(__name__)
_POLL_S = 0.002
_SAVE_EVERY_S = 0.2
_LOOK_EVERY_S = 15.0
_PAUSE_S = 1.0


class Delivery(threading.Thread):
    def __init__(
        self,
        name: str,
        couriers: Sequence[Courier],
        topics: Mapping[str, Sequence[str]],
        connect: Callable[[], Link],
        patience_s: float | None,
    ) -> None:
        """`topics`: to which each courier's messages may go. `patience_s`: how long a topic may
        refuse before its messages are dead letters; None: they wait."""
        super().__init__(name=name, daemon=True)
        self.forwarder = Forwarder(couriers, topics, patience_s, time.monotonic, self._is_late)
        self._couriers = couriers
        self._connect = connect
        self._look_every_s = min(_LOOK_EVERY_S, patience_s or _LOOK_EVERY_S)
        self._news = threading.Event()
        self._ending = threading.Event()
        self._ends_at: float | None = None
        self._saved_at = self._looked_at = self._answered_at = 0.0
        self._obstacle = "not connected yet"
        self._noted = ("", 0)
        self.failure: BaseException | None = None

    def wake(self) -> None:
        self._news.set()

    def end(self, grace_s: float) -> None:
        """What can be delivered within the grace is; the rest waits for the next start."""
        self._ends_at = time.monotonic() + grace_s
        self._ending.set()
        self._news.set()
        self.join()

    def end_when_done(self) -> None:
        self._ends_at = math.inf

    @property
    def obstacle(self) -> str:
        """Why nothing goes out; empty: it does."""
        return self.forwarder.busy_with or self._obstacle

    @property
    def refusals(self) -> dict[str, str]:
        return {topic.decode(): why for topic, why in self.forwarder.refusals.copy().items()}

    def run(self) -> None:
        try:
            while not self._is_over():
                self._deliver_on_a_new_link()
        except BaseException as error:
            log.critical("%s has failed: %s", self.name, error, exc_info=True)
            self.failure = error
        finally:
            for courier in self._couriers:
                courier.close()

    def _is_over(self) -> bool:
        if self._ends_at is None:
            return False
        is_done = all(c.window.base >= c.spool.next_index for c in self._couriers)
        return is_done or self._is_late()

    def _is_late(self) -> bool:
        return self._ends_at is not None and time.monotonic() > self._ends_at

    def _deliver_on_a_new_link(self) -> None:
        link, delivered = self._connect(), self.forwarder.delivered
        try:
            self._looked_at = time.monotonic()
            self.forwarder.begin(link)
            log.info("%s: connected", self.name)
            self._answered_at = time.monotonic()
            self._deliver(link)
        except SiteError as error:
            self._note(error)
            if self.forwarder.delivered == delivered:
                self._ending.wait(_PAUSE_S)
        finally:
            self.forwarder.busy_with = ""
            self.forwarder.is_broken = True
            link.close()
            self.forwarder.end()

    def _note(self, error: SiteError) -> None:
        """Said once, however often it is tried, until something is delivered again."""
        self._obstacle = str(error)
        if self._noted != (self._obstacle, self.forwarder.delivered):
            log.warning("%s", error)
        self._noted = (self._obstacle, self.forwarder.delivered)

    # While it holds.

    def _deliver(self, link: Link) -> None:
        forwarder = self.forwarder
        while not forwarder.is_broken and not self._is_over():
            self._news.clear()
            delivered = forwarder.delivered
            if forwarder.feed(link):
                link.poll(0)
            elif forwarder.has_outstanding:
                # Answers are in no hurry, as what comes next may be.
                self._news.wait(_POLL_S)
                link.poll(0)
            else:
                link.poll(0)
                self._answered_at = time.monotonic()  # nothing is owed
                self._news.wait(_SAVE_EVERY_S)
            if forwarder.delivered > delivered:
                self._answered_at = time.monotonic()
                link.forget_trouble()
            self._do_what_is_due(link)

    def _do_what_is_due(self, link: Link) -> None:
        now = time.monotonic()
        if now - self._saved_at > _SAVE_EVERY_S:
            self._saved_at = now
            # librdkafka tries for ever; who looks at us wants to know why.
            self._obstacle = link.trouble() or describe_silence(now - self._answered_at)
            for courier in self._couriers:
                courier.save()
        if self.forwarder.refusals and now - self._looked_at > self._look_every_s:
            # A right that was given, a topic that was made: what follows goes out.
            self.forwarder.is_broken = True
