"""Brings messages to the broker over one link after another: what is sent, refused, sent again.

It waits for nothing but a link's answers, and has no clock of its own, so that years of outages
pass in a test within a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from millrace.gateway.delivery.core.look_back import TopicHistory, TopicView
from millrace.gateway.delivery.core.window import Part, Window
from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.spool.core.message_identity import Found, Headers
from millrace.gateway.spool.core.records import Record
from millrace.kafka.io.client_errors import SiteError

log = logging.getLogger(__name__)
MOST_OUTSTANDING = 50_000
# How far messages to one partition may go ahead of those for another that takes none.
MOST_AHEAD = 200_000
_BURST = 1_000
_ANSWER_S = 0.1
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

OnDelivery = Callable[[KafkaError | None, Message], None]


class LinkBrokenError(SiteError):
    """A message was refused in the middle of others: all of them begin anew."""


class Look(Protocol):
    def at(self, topic: str) -> TopicView: ...
    def messages(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterable[Found]: ...


class OpenLink(Protocol):
    """A producer until it breaks."""

    def look(self) -> AbstractContextManager[Look]: ...
    def produce(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers, answer: OnDelivery
    ) -> None: ...
    def poll(self, timeout_s: float) -> None: ...
    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError: ...


class Forwarder:
    def __init__(
        self,
        couriers: Sequence[Courier],
        topics: Mapping[str, Sequence[str]],
        patience_s: float | None,
        clock: Callable[[], float],
        is_over: Callable[[], bool],
    ) -> None:
        """`topics`: to which each courier's messages may go. `patience_s`: how long a topic may
        refuse before its messages are dead letters; None: they wait. `is_over`: whether no answer
        is waited for any more."""
        self.couriers = couriers
        self._topics = topics
        self._patience_s = patience_s
        self._clock = clock
        self._is_over = is_over
        # Topics that are not tried by now, and why.
        self.refusals: dict[bytes, str] = {}
        # Since when a topic has taken nothing.
        self._refused_since: dict[bytes, float] = {}
        # Couriers and topics that this link has looked at.
        self._seen: set[tuple[str, bytes]] = set()
        # Where each partition ends, as far as it is known.
        self._ends: dict[Part, int] = {}
        for courier in couriers:
            courier.window.share(self._ends)
        # Topics whose offsets went back under our hands.
        self._gone_back: set[str] = set()
        # What became of topics, by their ids, so that it is told once.
        self._told: set[tuple[str, str, TopicHistory]] = set()
        self.is_broken = False
        self.delivered = 0
        # How many messages were read in search of what is delivered already.
        self.read_back = 0
        # How often a topic was made anew, or went back to an older state.
        self.made_anew = self.gone_back = 0
        # What takes its time; empty: nothing does.
        self.busy_with = ""

    @property
    def has_outstanding(self) -> bool:
        return any(courier.unanswered for courier in self.couriers)

    # At the beginning of a link, and at its end.

    def begin(self, link: OpenLink) -> None:
        self._seen.clear()
        self.is_broken = False
        with link.look() as look:
            for courier in self.couriers:
                for topic in self._topics[courier.name]:
                    self._look_at(look, courier, topic)
        self._gone_back.clear()

    def end(self) -> None:
        """All that was not answered is sent again by the next link, unless it is found there."""
        self.is_broken = True
        for courier in self.couriers:
            courier.rewind()

    def _look_at(self, look: Look, courier: Courier, topic: str) -> None:
        """What is known of a topic is written down before anything is sent to it."""
        self._seen.add((courier.name, topic.encode()))
        topic_view = look.at(topic)
        if topic_view.refusal:
            self._refuse(topic.encode(), topic_view.refusal)
            return
        self._ends.update({(topic, number): end for number, end in topic_view.ends.items()})
        plan = courier.begin(topic, topic_view)
        is_back = topic in self._gone_back and plan.history is TopicHistory.SAME
        self._tell(topic, topic_view, TopicHistory.BACK if is_back else plan.history)
        count = sum(max(0, end - plan.begins[part]) for part, end in plan.ends.items())
        if count:
            self.busy_with = f"looking through {count:,} messages of topic {topic!r}"
        messages = look.messages(topic, plan.begins, plan.ends) if count else ()
        if not courier.find(topic, self._counted(messages)):
            raise LinkBrokenError(courier.name, "another life of its spool has sent what waits")
        self.busy_with = ""
        self.refusals.pop(topic.encode(), None)

    def _counted(self, messages: Iterable[Found]) -> Iterator[Found]:
        for one in messages:
            self.read_back += 1
            if self._is_over():
                raise LinkBrokenError("gateway", "it ends while it looks through a topic")
            yield one

    def _tell(self, topic: str, topic_view: TopicView, history: TopicHistory) -> None:
        if history is TopicHistory.SAME or (topic, topic_view.id, history) in self._told:
            return
        if history is TopicHistory.ANEW:
            # One topic is seen by several inputs; a broker may go back more than once.
            self._told.add((topic, topic_view.id, history))
            self.made_anew += 1
        else:
            self.gone_back += 1
        log.warning(
            "topic %s: %s; offsets that were kept of it are void, and it is looked through for"
            " what is not known to be delivered",
            *(topic, history.value),
        )

    def _refuse(self, topic: bytes, reason: str) -> None:
        self.refusals[topic] = reason
        if topic not in self._refused_since:
            log.error("topic %s: %s", topic.decode(), reason)
            self._refused_since[topic] = self._clock()

    # While it holds.

    def feed(self, link: OpenLink) -> bool:
        """Whether anything went out."""
        has_moved = [self._feed(link, courier) for courier in self.couriers]
        return any(has_moved)

    def _feed(self, link: OpenLink, courier: Courier) -> bool:
        if courier.held_up:
            return False
        for fed in range(_BURST):
            record = courier.next()
            if record is None or _is_far_ahead(courier.window):
                courier.settle()
                return fed > 0
            if not self._bring(link, courier, record):
                courier.settle()
                return fed > 0
        courier.settle()
        return True

    def _bring(self, link: OpenLink, courier: Courier, record: Record) -> bool:
        """False: it has to wait."""
        topic = record.draft.topic
        if record.serial in courier.condemned:
            return courier.bury(record, courier.condemned.pop(record.serial))
        if not topic:
            return courier.bury(record, _NO_TOPIC)
        if (courier.name, topic) not in self._seen:
            # Of a time in which the gateway's file said otherwise.
            with link.look() as look:
                self._look_at(look, courier, topic.decode())
            return True
        if topic in self.refusals:
            return self._bury_refused(courier, record)
        return self._send(link, courier, record)

    def _bury_refused(self, courier: Courier, record: Record) -> bool:
        topic = record.draft.topic
        refused_s = self._clock() - self._refused_since[topic]
        if self._patience_s is None or refused_s < self._patience_s:
            return False
        return courier.bury(record, self.refusals[topic])

    def _send(self, link: OpenLink, courier: Courier, record: Record) -> bool:
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
        return not self.is_broken

    def _wait_for_answer(self, link: OpenLink, courier: Courier, record: Record) -> None:
        while not courier.window.is_done(record.serial) and not self.is_broken:
            link.poll(_ANSWER_S)
            if self._is_over():
                return

    def _on_refused_at_once(self, courier: Courier, record: Record, error: KafkaError) -> bool:
        """It never left this machine, so nothing else is in doubt."""
        if error.code() not in _OF_MESSAGE:
            raise LinkBrokenError(courier.name, error.str())
        return courier.bury(record, error.str())

    def _on_delivery(
        self,
        link: OpenLink,
        courier: Courier,
        index: int,
        topic: str,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        if error is None:
            self._on_delivered(courier, index, topic, message)
            return
        if error.code() in _OF_MESSAGE:
            self._on_refused_message(courier, index, error)
        elif error.code() in _OF_TOPIC:
            self._refuse(topic.encode(), str(link.explain(error, topic)))
        self.is_broken = True

    def _on_delivered(self, courier: Courier, index: int, topic: str, message: Message) -> None:
        part, offset = (topic, message.partition() or 0), message.offset()
        # Of a message that the broker had already, it does not say where.
        if offset is not None and offset >= 0:
            if offset < self._ends.get(part, 0):
                self._on_gone_back(topic)
            self._ends[part] = offset + 1
        courier.window.finish(index)
        courier.delivered += 1
        self.delivered += 1
        if self._refused_since:
            self._refused_since.pop(topic.encode(), None)

    def _on_gone_back(self, topic: str) -> None:
        """It is not the topic that it was: what it is, the next link sees."""
        self._gone_back.add(topic)
        self.is_broken = True
        for courier in self.couriers:
            courier.window.forget(topic)

    def _on_refused_message(self, courier: Courier, index: int, error: KafkaError) -> None:
        """Those of its batch were refused with it, whoever is to blame."""
        if index == courier.alone:
            courier.condemned[index] = error.str()
        else:
            courier.careful_until = max(courier.careful_until, courier.window.next)


def _is_far_ahead(window: Window) -> bool:
    return window.outstanding >= MOST_OUTSTANDING or window.span >= MOST_AHEAD
