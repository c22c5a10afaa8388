"""Who reads what the gateway brings: all the time, and once more when all is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from benchmarks.faults.stands.load import parse
from benchmarks.faults.stands.tally import Freshness, Tally
from millrace.sites.core.spec import ClientSettings

_POLL_S, _BURST = 0.02, 2_000
_PROMPT: ClientSettings = {
    "group.id": "app-faults",
    "enable.auto.commit": False,
    "fetch.wait.max.ms": 20,
    "reconnect.backoff.max.ms": 250,
    # Whatever is read twice is counted as doubled.
    "auto.offset.reset": "earliest",
}


class LiveReader(threading.Thread):
    def __init__(
        self, settings: ClientSettings, topic: str, partitions: int, keys: Collection[str]
    ) -> None:
        super().__init__(name="reader", daemon=True)
        self._consumer = Consumer({**settings, **_PROMPT})
        parts = [TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)]
        self._consumer.assign(parts)
        self.tally = Tally()
        self.freshness = Freshness(keys, time.monotonic())
        self._watches = True
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.is_set():
            messages = self._consumer.consume(_BURST, _POLL_S)
            now_s = time.monotonic()
            for message in messages:
                found = None if message.error() else parse(message.value())
                if found:
                    self.tally.see(found)
                    self.freshness.hear(found, now_s)
            if self._watches:
                self.freshness.look(now_s)
        self._consumer.close()

    def stop_watching(self) -> None:
        """The load ends, so nothing is fresh from here on."""
        self._watches = False

    def end(self) -> None:
        self._ending.set()
        self.join(30)


def read_all(settings: ClientSettings, topic: str, partitions: int) -> Tally:
    """What somebody finds who comes later."""
    consumer = Consumer({**settings, **_PROMPT, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
    tally, open_ones, deadline_s = Tally(), partitions, time.monotonic() + 60
    while open_ones:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{topic} could not be read to its end")
        for message in consumer.consume(_BURST, _POLL_S):
            error = message.error()
            if error and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                open_ones -= 1
            elif not error and (found := parse(message.value())):
                tally.see(found)
    consumer.close()
    return tally
