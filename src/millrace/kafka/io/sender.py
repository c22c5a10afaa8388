"""Sends messages to one topic: all of them, in order, and through the broker's crashes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Producer

from millrace.kafka.io.client_errors import SiteError, Watch, watched
from millrace.sites.core.spec import ClientSettings, SiteSpec

_DEFAULTS: ClientSettings = {
    "linger.ms": 20,
    # Keys go where Java's clients would put them.
    "partitioner": "murmur2_random",
    "reconnect.backoff.max.ms": 2_000,
}
_REQUIRED: ClientSettings = {
    "acks": "all",
    "enable.idempotence": True,
    "message.timeout.ms": 0,  # a message is never given up
}
_OUTSTANDING_MAX = 50_000
_METADATA_TIMEOUT_S = 2.0
_PAUSE_S = 1.0


class Sender:
    """An idempotent producer, and what it has not delivered yet.

    librdkafka repeats by itself what may be repeated, once and in order. What it gives up all the
    same (a crashed broker can answer UNKNOWN for good) is sent again by a new producer, in the old
    order: such a message may then be there twice, but none is missing.
    """

    def __init__(
        self,
        site: SiteSpec,
        settings: ClientSettings,
        topic: str,
        login: Callable[[], dict[str, str]] | None = None,
    ) -> None:
        """`login` tells user and password as they are by now, for when the old are refused."""
        self._login = login
        self._settings = {**_DEFAULTS, **settings, **_REQUIRED}
        self._topic = topic
        self._outstanding: dict[int, tuple[bytes, bytes]] = {}
        self._sent = 0
        self._gave_up = False
        self._reason: KafkaError | None = None
        self._watch = Watch(site, self._settings)
        self._producer = self._connect()

    @property
    def delivered(self) -> int:
        return self._sent - len(self._outstanding)

    @property
    def outstanding(self) -> int:
        return len(self._outstanding)

    @property
    def room(self) -> int:
        """How many more may be handed over before some must be delivered."""
        return _OUTSTANDING_MAX - len(self._outstanding)

    def trouble(self) -> SiteError:
        """Why nothing goes out, as far as the site has told."""
        return self._watch.explain(self._reason, self._topic)

    def find_obstacle(self) -> SiteError | None:
        """None when the topic is there and may be written to, as far as can be seen."""
        try:
            metadata = self._producer.list_topics(self._topic, timeout=_METADATA_TIMEOUT_S)
        except KafkaException as error:
            self._serve(0)  # until now nobody let the watch hear the reason
            return self._watch.explain(error.args[0], self._topic)
        refusal = metadata.topics[self._topic].error
        return self._watch.explain(refusal, self._topic) if refusal else None

    def send(self, key: bytes, value: bytes) -> None:
        number = self._sent
        self._sent += 1
        self._outstanding[number] = (key, value)
        self._hand_over(number, key, value)

    def abandon(self) -> None:
        """What is not delivered yet is left to another sender."""
        self._gave_up = True
        self._drop()

    def poll(self, timeout_s: float) -> None:
        """Wait for answers; start anew where a message was given up."""
        self._serve(timeout_s)
        if self._login and self._watch.is_refused:
            self._take_login(self._login())
        if self._gave_up:
            self._start_anew()

    def _serve(self, timeout_s: float) -> None:
        """Let answers in. An error that ends the producer for good is raised, not told."""
        try:
            self._producer.poll(timeout_s)
        except KafkaException as error:
            self._give_up(error.args[0])

    def _drop(self) -> None:
        self._producer.purge()
        with suppress(KafkaException):  # once more the error that ended it
            self._producer.flush(_PAUSE_S)

    def _take_login(self, login: dict[str, str]) -> None:
        self._settings |= login
        self._producer.set_sasl_credentials(login["sasl.username"], login["sasl.password"])

    def _connect(self) -> Producer:
        return Producer(watched(self._settings, self._watch))

    def _hand_over(self, number: int, key: bytes, value: bytes) -> None:
        if self._gave_up:
            return  # it waits in `_outstanding` for the next producer
        answer = partial(self._on_delivery, number)
        try:
            self._producer.produce(self._topic, value, key, on_delivery=answer)
        except KafkaException as error:
            self._give_up(error.args[0])

    def _on_delivery(self, number: int, error: KafkaError | None, _message: object) -> None:
        if error is None:
            del self._outstanding[number]
            self._reason = None
            self._watch.forget()
        elif not self._gave_up:
            self._give_up(error)

    def _give_up(self, error: KafkaError) -> None:
        self._gave_up, self._reason = True, error

    def _start_anew(self) -> None:
        """Whatever follows the lost message must follow it again, so all of it is sent anew."""
        self._drop()
        self._producer = self._connect()
        self._gave_up = False
        self._serve(_PAUSE_S)
        for number, (key, value) in self._outstanding.items():
            self._hand_over(number, key, value)
