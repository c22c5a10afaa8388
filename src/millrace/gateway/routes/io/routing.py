"""To which topic a message goes, and under which key: fixed, or told by the message itself."""

from __future__ import annotations

from collections.abc import Callable

from millrace.gateway.routes.core.routes import Before, FromField, FromLevel, KeyRule, TopicRule
from millrace.gateway.routes.io.fields import field_reader, text_of
from millrace.gateway.spool.core.records import MAX_KEY_BYTES, Draft

_NO_TOPIC = b""


class Router:
    """Whatever cannot be told is left out: such a message has no key, or waits as a dead letter.

    A message that is no JSON at all is kept like any other: what is behind the broker judges it.
    """

    def __init__(self, topic: TopicRule, key: KeyRule) -> None:
        self._topic = _topic_teller(topic)
        self._level = key.level if isinstance(key, FromLevel) else 0
        self._split = _splitter(key)

    def draft(self, message: bytes, origin: bytes = b"", number: int = 0, path: str = "") -> Draft:
        """`path`: the MQTT topic that it came by."""
        key, value = self._split(message)
        if self._level:
            key = _level_of(path, self._level)
        return Draft(self._topic(value), key, value, origin, number)


def _topic_teller(rule: TopicRule) -> Callable[[bytes], bytes]:
    if isinstance(rule, str):
        fixed = rule.encode()
        return lambda _: fixed
    read, topics = field_reader(rule.field), {name: name.encode() for name in rule.among}
    return lambda value: topics.get(text_of(read(value)) or "", _NO_TOPIC)


def _splitter(rule: KeyRule) -> Callable[[bytes], tuple[bytes | None, bytes]]:
    if isinstance(rule, FromField):
        read = field_reader(rule.field)
        return lambda message: (_as_key(text_of(read(message))), message)
    if isinstance(rule, Before):
        mark = rule.before.encode()
        return lambda message: _split_at(mark, message)
    return lambda message: (None, message)


def _split_at(mark: bytes, message: bytes) -> tuple[bytes | None, bytes]:
    key, found, value = message.partition(mark)
    return (key, value) if found and len(key) <= MAX_KEY_BYTES else (None, message)


def _as_key(text: str | None) -> bytes | None:
    if text is None or len(text) > MAX_KEY_BYTES:
        return None
    key = text.encode(errors="replace")
    return key if len(key) <= MAX_KEY_BYTES else None


def _level_of(path: str, level: int) -> bytes | None:
    levels = path.split("/")
    return _as_key(levels[level - 1]) if level <= len(levels) else None
