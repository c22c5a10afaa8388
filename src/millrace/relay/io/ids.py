"""The ids of topics: which one of those that had a name, one after the other, it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from millrace.sites.core.spec import ClientSettings

_TIMEOUT_S = 15.0
_CHANGED = re.compile(r"Topic (\S+) changed id from \S+ to (\S+)$")


def ask_ids(admin: AdminClient, topics: Iterable[str]) -> dict[str, str]:
    """Of those that there are. Raises a KafkaException where nobody answers."""
    names = list(topics)
    if not names:
        return {}
    asked = admin.describe_topics(TopicCollection(names), request_timeout=_TIMEOUT_S)
    found = {}
    for name, future in asked.items():
        try:
            found[name] = str(future.result(timeout=_TIMEOUT_S).topic_id)
        except KafkaException as error:
            if "UNKNOWN_TOPIC_OR_PART" not in error.args[0].name():
                raise
    return found


class Ear:
    """Hears from a consumer which topic it reads from here on, in between its messages.

    A consumer goes on in a topic that was made anew as if it were the old one, at the old offset.
    That it is another one stands in a line of its log alone (librdkafka's
    `rd_kafka_topic_metadata_update`). The line comes before any message of the new topic: what a
    call returned is the old one's as long as no line came in that call.
    """

    settings: ClientSettings = {"debug": "topic", "log_level": 7}  # noqa: RUF012 - nobody changes it

    def __init__(self) -> None:
        self._changes: list[tuple[str, str]] = []

    def log(self, _level: int, _format: str, *words: str) -> None:
        """As a Logger of Python's, which is what the client takes this for."""
        if found := _CHANGED.search(words[-1]):
            self._changes.append((found[1], found[2]))

    @property
    def has_news(self) -> bool:
        return bool(self._changes)

    def changed(self, known: Mapping[str, str]) -> set[str]:
        """Topics that were others until now."""
        return {topic for topic, new in self._changes if known.get(topic, new) != new}

    def take(self) -> list[tuple[str, str]]:
        """Topics and their ids, in the order in which they came."""
        changes, self._changes = self._changes, []
        return changes
