"""What a site's file may say to the Kafka clients: how fast and how patient, never how safe.

The list names what may be said; whatever is not on it is refused. So a setting that a later
version of a client brings is refused until somebody has looked at it.
"""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from millrace.base.suggest import did_you_mean

Value = TypeVar("Value")

_BOTH = frozenset(
    {
        "batch.size",
        "client.id",
        "client.rack",
        "compression.type",
        "connections.max.idle.ms",
        "fetch.max.bytes",
        "fetch.min.bytes",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "session.timeout.ms",
        "socket.connection.setup.timeout.ms",
        "transaction.timeout.ms",
    }
)
LIBRDKAFKA = _BOTH | {
    "batch.num.messages",
    "broker.address.family",
    "broker.address.ttl",
    "compression.codec",
    "compression.level",
    "fetch.error.backoff.ms",
    "fetch.message.max.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "log.connection.close",
    "message.max.bytes",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
}
JAVA = _BOTH | {
    "buffer.memory",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "default.api.timeout.ms",
    "fetch.max.wait.ms",
    "max.block.ms",
    "max.poll.records",
    "max.request.size",
    "metadata.max.idle.ms",
    "receive.buffer.bytes",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
}
_PREFIXES = {"librdkafka.": LIBRDKAFKA, "java.": JAVA}
_SECRETS = ("password", "secret", "jaas", "key.pem", "oauth", "passphrase")
# A line break would begin a setting of its own where settings are written as lines.
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_REFUSED = (
    "a site's file may tune its clients (time limits, sizes of buffers and batches, compression),"
    " and not say whom they connect to or trust, what they load, how they log in, or what they"
    " promise; leave it out"
)


def check_client_settings(settings: dict[str, Value]) -> dict[str, Value]:
    """All that is refused in one error, each under its own key."""
    problems = {key: problem_of(key, value) for key, value in settings.items()}
    refused = [
        InitErrorDetails(
            # As pydantic does with an error that is raised; here there may be several.
            type=PydanticCustomError("value_error", "{error}", {"error": problem}),
            loc=(key,),
            input="(not shown)" if may_be_secret(key) else settings[key],
        )
        for key, problem in problems.items()
        if problem
    ]
    if refused:
        raise ValidationError.from_exception_data("client", refused)
    return settings


def may_be_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRETS)


def problem_of(key: str, value: object) -> str:
    """Why this setting may not stand in a site's file; empty where it may."""
    prefix = next((prefix for prefix in _PREFIXES if key.startswith(prefix)), "")
    name, known = key.removeprefix(prefix), _PREFIXES.get(prefix, LIBRDKAFKA)
    if name not in known:
        return _way_out(name, prefix)
    if not _WORD.fullmatch(str(value)):
        return "write a number, true, false or one word of letters, digits, '.', '_' and '-'"
    return ""


def _way_out(name: str, prefix: str) -> str:
    others = [other for other, known in _PREFIXES.items() if name in known]
    if others:
        return f"this client does not know it; write {others[0]}{name}"
    near = did_you_mean(name, _PREFIXES.get(prefix, LIBRDKAFKA | JAVA))
    return f"{near}{_REFUSED}"
