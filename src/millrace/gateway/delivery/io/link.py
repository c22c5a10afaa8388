"""The way to the broker: a producer until it breaks."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, Producer

from millrace.gateway.delivery.io.forwarder import LinkBrokenError, OnDelivery
from millrace.gateway.delivery.io.topic_poll import TopicPoll
from millrace.gateway.spool.core.message_identity import Headers
from millrace.kafka.io.client_errors import SiteError, Watch, watched
from millrace.sites.core.spec import ClientSettings, SiteSpec

_DEFAULTS: ClientSettings = {
    # A broker that syncs each write does half the work of 2 ms, and stalls half as often.
    "linger.ms": 5,
    "compression.type": "lz4",
    # Keys go where Java's clients would put them.
    "partitioner": "murmur2_random",
    "reconnect.backoff.max.ms": 2_000,
    # A connection that leads nowhere is given up after so long; librdkafka's own is a minute.
    "socket.timeout.ms": 10_000,
    "socket.connection.setup.timeout.ms": 10_000,
    "queue.buffering.max.messages": 200_000,
    # Of all inputs of this link, in memory; librdkafka's own is 1 GB.
    "queue.buffering.max.kbytes": 128 << 10,
    "topic.metadata.propagation.max.ms": 10_000,
}
_REQUIRED: ClientSettings = {
    "acks": "all",
    "enable.idempotence": True,
    # Nothing overtakes what was refused: the link breaks instead.
    "enable.gapless.guarantee": True,
    "message.timeout.ms": 0,
}
_CLOSE_S, _CLOSE_STEP_S = 5.0, 0.2
Login = Callable[[], dict[str, str]]


class Link:
    def __init__(self, site: SiteSpec, settings: ClientSettings, login: Login) -> None:
        self._login = login
        self._settings = {**_DEFAULTS, **settings, **login(), **_REQUIRED}
        self._site = site
        self._watch = Watch(site, self._settings)
        self._producer = Producer(watched(self._settings, self._watch))

    def produce(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers, answer: OnDelivery
    ) -> None:
        self._producer.produce(topic, value, key, headers=headers, on_delivery=answer)

    def poll(self, timeout_s: float) -> None:
        """Raises where the producer has ended itself; `close` tells which messages are to blame."""
        try:
            self._producer.poll(timeout_s)
        except KafkaException as error:
            raise LinkBrokenError(self._site.name, error.args[0].str()) from error
        if self._watch.is_refused:
            self._take_login()

    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError:
        return self._watch.explain(error, name)

    def trouble(self) -> str:
        """What the broker's side was last heard to complain of; empty: nothing."""
        return str(self._watch.explain()) if self._watch.has_reason else ""

    def forget_trouble(self) -> None:
        self._watch.forget()

    def close(self) -> None:
        """What is on its way is waited for: the next link looks for what has arrived by then.

        A producer that has ended itself says so in the middle of its answers, as either error.
        """
        deadline_s = time.monotonic() + _CLOSE_S
        while len(self._producer) and time.monotonic() < deadline_s:
            with suppress(KafkaException, SystemError):
                # Also what comes back to the queue, to be tried again.
                self._producer.purge(in_queue=True, in_flight=False)
                self._producer.flush(_CLOSE_STEP_S)
        with suppress(KafkaException, SystemError):
            self._producer.purge()
            self._producer.flush(_CLOSE_STEP_S)

    def look(self) -> TopicPoll:
        return TopicPoll(self._settings, self._watch)

    def _take_login(self) -> None:
        login = self._login()
        if login.items() <= self._settings.items():
            return
        self._settings |= login
        self._watch.forget()
        self._producer.set_sasl_credentials(login["sasl.username"], login["sasl.password"])
