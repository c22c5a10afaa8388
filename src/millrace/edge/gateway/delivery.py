"""Brings what the spools hold to the broker, in order, through whatever happens to it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from millrace.core.gateway.records import Record
from millrace.core.gateway.state import describe_silence
from millrace.core.gateway.window import Window
from millrace.edge.errors import SiteError
from millrace.edge.gateway.courier import Courier
from millrace.edge.gateway.link import Link, LinkBrokenError

log = logging.getLogger(__name__)
_MOST_OUTSTANDING = 50_000
# How far messages to one partition may go ahead of those for another that takes none.
_MOST_AHEAD = 200_000
_BURST = 1_000
_POLL_S = 0.002
_SAVE_EVERY_S = 0.2
_LOOK_EVERY_S = 15.0
_PAUSE_S = 1.0
_NO_TOPIC = "none of the input's topics is named in it"

# About one message, whatever its topic.
_OF_MESSAGE = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
}
# About a topic, and so about each of its messages.
_OF_TOPIC = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - its name
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.POLICY_VIOLATION,
}


class Delivery(threading.Thread):
    def __init__(
        self,
        name: str,
        couriers: Sequence[Courier],
        topics: dict[str, Sequence[str]],
        connect: Callable[[], Link],
        patience_s: float,
    ) -> None:
        """`topics`: to which each courier's messages may go. `patience_s`: how long a topic may
        refuse before its messages are dead letters."""
        super().__init__(name=name, daemon=True)
        self._couriers = couriers
        self._topics = topics
        self._connect = connect
        self._patience_s = patience_s
        self._news = threading.Event()
        self._ending = threading.Event()
        self._ends_at: float | None = None
        # Topics that are not tried by now, and why.
        self._refusals: dict[bytes, str] = {}
        # Since when a topic has taken nothing.
        self._refused_since: dict[bytes, float] = {}
        # Couriers and topics that this link has looked at.
        self._seen: set[tuple[str, bytes]] = set()
        self._delivered = 0
        self._is_broken = False
        self._saved_at = self._looked_at = self._answered_at = 0.0
        # Why nothing goes out; empty: it does.
        self.obstacle = "not connected yet"
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

    @property
    def refusals(self) -> dict[str, str]:
        return {topic.decode(): reason for topic, reason in self._refusals.copy().items()}

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
        return is_done or time.monotonic() > self._ends_at

    def _deliver_on_a_new_link(self) -> None:
        link, delivered = self._connect(), self._delivered
        try:
            self._look_around(link)
            self._say_connected()
            self._deliver(link)
        except SiteError as error:
            self._note(error)
            if self._delivered == delivered:
                self._ending.wait(_PAUSE_S)
        finally:
            self._is_broken = True
            link.close()
            for courier in self._couriers:
                courier.rewind()

    def _note(self, error: SiteError) -> None:
        """Said once, however often it is tried, until something is delivered again."""
        self.obstacle = str(error)
        if self._noted != (self.obstacle, self._delivered):
            log.warning("%s", error)
        self._noted = (self.obstacle, self._delivered)

    def _say_connected(self) -> None:
        log.info("%s: connected", self.name)
        self._answered_at = time.monotonic()
        self._is_broken = False

    # At the beginning of a link.

    def _look_around(self, link: Link) -> None:
        self._looked_at = time.monotonic()
        self._seen.clear()
        for courier in self._couriers:
            for topic in self._topics[courier.name]:
                self._look_at(link, courier, topic)

    def _look_at(self, link: Link, courier: Courier, topic: str) -> None:
        """What is known of a topic is written down before anything is sent to it."""
        self._seen.add((courier.name, topic.encode()))
        sight = link.look_at(topic)
        if sight.refusal:
            self._refuse(topic.encode(), sight.refusal)
            return
        begins = courier.begins(topic, sight.ends)
        if begins is not None:
            courier.find(topic, link.read_back(topic, begins, sight.ends))
        courier.begin_at(topic, sight.ends)
        courier.save()
        self._refusals.pop(topic.encode(), None)

    def _refuse(self, topic: bytes, reason: str) -> None:
        self._refusals[topic] = reason
        if topic not in self._refused_since:
            log.error("topic %s: %s", topic.decode(), reason)
            self._refused_since[topic] = time.monotonic()

    # While it holds.

    def _deliver(self, link: Link) -> None:
        while not self._is_broken and not self._is_over():
            self._news.clear()
            delivered = self._delivered
            has_moved = [self._feed(link, courier) for courier in self._couriers]
            if any(has_moved):
                link.poll(0)
            elif any(courier.window.outstanding for courier in self._couriers):
                # Answers are in no hurry, as what comes next may be.
                self._news.wait(_POLL_S)
                link.poll(0)
            else:
                link.poll(0)
                self._answered_at = time.monotonic()  # nothing is owed
                self._news.wait(_SAVE_EVERY_S)
            if self._delivered > delivered:
                self._answered_at = time.monotonic()
                link.forget_trouble()
            self._do_what_is_due(link)

    def _do_what_is_due(self, link: Link) -> None:
        now = time.monotonic()
        if now - self._saved_at > _SAVE_EVERY_S:
            self._saved_at = now
            # librdkafka tries for ever; who looks at us wants to know why.
            self.obstacle = link.trouble() or describe_silence(now - self._answered_at)
            for courier in self._couriers:
                courier.save()
        if self._refusals and now - self._looked_at > min(_LOOK_EVERY_S, self._patience_s):
            # A right that was given, a topic that was made: what follows goes out.
            self._is_broken = True

    def _feed(self, link: Link, courier: Courier) -> bool:
        for fed in range(_BURST):
            record = courier.next()
            if record is None or _is_far_ahead(courier.window):
                return fed > 0
            topic = record.draft.topic
            if record.serial in courier.condemned:
                courier.bury(record, courier.condemned.pop(record.serial))
            elif not topic:
                courier.bury(record, _NO_TOPIC)
            elif (courier.name, topic) not in self._seen:
                # Of a time in which the gateway's file said otherwise.
                self._look_at(link, courier, topic.decode())
            elif topic in self._refusals:
                if not self._bury_refused(courier, record):
                    return fed > 0
            elif not self._send(link, courier, record):
                return fed > 0
        return True

    def _bury_refused(self, courier: Courier, record: Record) -> bool:
        topic = record.draft.topic
        if time.monotonic() - self._refused_since[topic] < self._patience_s:
            return False
        courier.bury(record, self._refusals[topic])
        return True

    def _send(self, link: Link, courier: Courier, record: Record) -> bool:
        topic, key, value, _, _ = record.draft
        name = topic.decode()
        answer = partial(self._on_delivery, link, courier, record.serial, name)
        try:
            link.produce(name, key, value, courier.headers(record), answer)
        except BufferError:
            return False
        except KafkaException as error:
            return self._on_refused_at_once(courier, record, error.args[0])
        courier.hand_over(record)
        if record.serial < courier.careful_until:
            courier.alone = record.serial
            self._wait_for_answer(link, courier, record)
        return not self._is_broken

    def _wait_for_answer(self, link: Link, courier: Courier, record: Record) -> None:
        while not courier.window.is_done(record.serial) and not self._is_broken:
            link.poll(0.1)
            if self._ends_at is not None and time.monotonic() > self._ends_at:
                return

    def _on_refused_at_once(self, courier: Courier, record: Record, error: KafkaError) -> bool:
        """It never left this machine, so nothing else is in doubt."""
        if error.code() not in _OF_MESSAGE:
            raise LinkBrokenError(courier.name, error.str())
        courier.bury(record, error.str())
        return True

    def _on_delivery(
        self,
        link: Link,
        courier: Courier,
        index: int,
        topic: str,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        if error is None:
            part, offset = (topic, message.partition() or 0), message.offset() or 0
            courier.window.acknowledge(index, part, offset)
            courier.delivered += 1
            self._delivered += 1
            if self._refused_since:
                self._refused_since.pop(topic.encode(), None)
            return
        if error.code() in _OF_MESSAGE:
            self._on_refused_message(courier, index, error)
        elif error.code() in _OF_TOPIC:
            self._refuse(topic.encode(), str(link.explain(error, topic)))
        self._is_broken = True

    def _on_refused_message(self, courier: Courier, index: int, error: KafkaError) -> None:
        """Those of its batch were refused with it, whoever is to blame."""
        if index == courier.alone:
            courier.condemned[index] = error.str()
        else:
            courier.careful_until = max(courier.careful_until, courier.window.next)


def _is_far_ahead(window: Window) -> bool:
    return window.outstanding >= _MOST_OUTSTANDING or window.span >= _MOST_AHEAD
