"""Whatever bytes a device sends, it is one device's message: nothing raises, nothing else stops."""

from __future__ import annotations

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from millrace.gateway.commands.core.command import read_answer, read_command, read_response
from millrace.gateway.inputs.core.framing import LengthPrefixed, Lines
from millrace.gateway.inputs.core.greeting import name_in
from millrace.gateway.inputs.io.tokens import Tokens
from millrace.gateway.mqtt.core.flights import numbered
from millrace.gateway.mqtt.core.mqtt_packet import Published, read_published
from millrace.gateway.routes.core.routes import AmongField, Before, FromField, FromLevel
from millrace.gateway.routes.io.fields import field_reader, fields_reader
from millrace.gateway.routes.io.routing import Router
from millrace.gateway.rules.core.rule_spec import RuleSpec, RulesState, RuleState
from millrace.gateway.rules.io.rule_at_work import RuleAtWork
from millrace.gateway.spool.core.message_identity import Identity
from millrace.gateway.spool.core.records import MAX_KEY_BYTES, Draft, Record
from millrace.kafka.core.header_names import EPOCH, PRODUCER, SEQUENCE

pytestmark = pytest.mark.generated
DEEP = b'{"s":' + b"[" * 100_000 + b"]" * 100_000 + b',"v":1}'
DEEP_BESIDE = b'{"x":' + b'{"x":' * 100_000 + b"1" + b"}" * 100_001
LONG_NUMBER = b'{"s":' + b"9" * 4_301 + b',"v":1}'
SURROGATE = b'{"s":"\\ud800","v":1}'
HUGE = b'{"s":1e999,"v":1e308,"t":1e300}'
BY_FIELD, BY_PATH = FromField(field="$.s"), FromField(field="$.s.x")
AMONG = AmongField(field="$.s", among=("None", "True", "t"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("sxvtu"), inner),
    max_leaves=10,
)
samples = st.fixed_dictionaries({}, optional=dict.fromkeys("svtu", values)).map(
    lambda value: json.dumps(value).encode()
)
anything = st.binary(max_size=200) | samples


def with_examples(test: Any) -> Any:
    for message in (DEEP, DEEP_BESIDE, LONG_NUMBER, SURROGATE, HUGE, b'{"s":"\xed\xa0\x80"}'):
        test = example(message)(test)
    return test


@with_examples
@given(anything)
def test_any_message_has_a_route(message: bytes) -> None:
    for rule in (BY_FIELD, BY_PATH, Before(before=","), FromLevel(level=2)):
        draft = Router(AMONG, rule).draft(message, path="a/\ufffd\ud800")
        assert draft.topic in (b"", b"None", b"True", b"t")
        assert draft.key is None or len(draft.key) <= MAX_KEY_BYTES


@with_examples
@given(anything)
def test_several_fields_of_any_message_are_read_as_each_by_itself(message: bytes) -> None:
    paths = ("$.s", "$.v", "$.t", "$.u")
    several, each = fields_reader(paths)(message), tuple(field_reader(p)(message) for p in paths)
    assert several == each


@pytest.mark.parametrize("message", [b'{"s":null}', b"no json", b'{"s":true}', b"{}"])
def test_a_topic_is_not_told_by_the_want_of_one(message: bytes) -> None:
    assert Router(AMONG, None).draft(message).topic == b""


RULE = RuleSpec(name="r", sensor="$.s", value="$.v", time="$.t", above=1, topic="t")


@with_examples
@given(anything)
def test_a_rule_judges_any_message_and_its_state_can_be_read_again(message: bytes) -> None:
    rule = RuleAtWork(RULE, RuleState(), "lines")
    for value in (message, b'{"s":1,"v":2}', message):
        event = rule.on_record(Record(0, 0, 1, 7, Draft(b"t", None, value)))
        assert event is None or json.loads(event.value)["average"] is not None
    state = RulesState(rules={"r": rule.state()})
    assert RulesState.model_validate_json(state.model_dump_json()) == state


@pytest.mark.parametrize("value", [1.7e308, 1e290, -1e308, 2**1023])
def test_sums_of_samples_stay_finite_so_that_a_gateway_can_start_again(value: float) -> None:
    rule = RuleAtWork(RULE, RuleState(), "lines")
    for _ in range(20):
        rule.on_record(Record(0, 0, 1, 7, Draft(b"t", None, b'{"s":"a","v":%d}' % value)))
        rule.on_record(Record(0, 0, 1, 7, Draft(b"t", None, b'{"s":"a","v":9e289}')))
    state = RulesState(rules={"r": rule.state()})
    assert math.isfinite(state.rules["r"].exceeding["a"].total)
    assert RulesState.model_validate_json(state.model_dump_json()) == state


@pytest.mark.parametrize("time", [b"1e300", b"-1", b"9" * 4_300, b"true", b'"now"', b"[]", b"-0.5"])
def test_what_is_no_time_leaves_the_moment_at_which_a_message_came(time: bytes) -> None:
    rule = RuleAtWork(RULE, RuleState(), "lines")
    message = b'{"s":"a","v":2,"t":' + time + b"}"
    event = rule.on_record(Record(0, 0, 1, 7, Draft(b"t", None, message)))
    assert event is not None
    assert json.loads(event.value)["at_ms"] == 7


def test_a_rule_follows_so_many_sensors_at_once_and_counts_what_is_beyond() -> None:
    rule = RuleAtWork(RULE, RuleState(), "lines")
    for number in range(10_010):
        rule.on_record(Record(0, 0, 1, 7, Draft(b"t", None, b'{"s":%d,"v":2}' % number)))
    assert len(rule.state().exceeding) == 10_000
    assert rule.passed_over == 10


# Numbers that others write.


@example("1" * 5_000)
@example("\N{SUPERSCRIPT TWO}")
@example("\ud800")
@given(st.text())
def test_any_number_of_a_publisher_is_a_number_or_none(number: str) -> None:
    _, found = numbered("topic", [("millrace-origin", "plc"), ("millrace-number", number)])
    assert 0 <= found < 2**63


@example(b"9" * 5_000, b"1")
@given(st.binary(), st.binary())
def test_any_number_at_the_broker_is_a_number_or_none(number: bytes, epoch: bytes) -> None:
    identity = Identity("plant", "lines", "t")
    ours = dict(identity.headers(1, 1))
    headers = [(PRODUCER, ours[PRODUCER]), (EPOCH, epoch), (SEQUENCE, number)]
    found = identity.found_in(headers)
    assert found is None or max(found) < 2**63


# What comes by the wire.


@given(st.lists(st.binary(max_size=60)))
def test_any_bytes_are_framed_within_bounds(pieces: list[bytes]) -> None:
    for framing in (Lines(10), LengthPrefixed(10)):
        messages = [one for piece in pieces for one in framing.feed(piece)]
        assert all(one is None or len(one) <= 10 for one in messages)


@example(b"HELLO \xff")
@example(b"OUTCOME x done \xff\xed\xa0\x80")
@given(st.binary() | st.binary().map(lambda tail: b"HELLO " + tail))
def test_any_line_is_a_greeting_an_answer_or_a_message(line: bytes) -> None:
    name = name_in(line)
    assert name is None or name.isascii()
    for answer in (read_answer(line), read_response(line, b"done " + line)):
        assert answer is None or answer.text.encode() is not None
    read_command(line)


@given(st.text() | st.binary().map(lambda raw: "Basic " + base64.b64encode(raw).decode()))
@example("Bearer \udcff")
@example("Basic \udcff")
@example("Basic \N{SUPERSCRIPT TWO}")
def test_any_header_shows_a_token_or_none(tmp_path: Path, header: str) -> None:
    file = tmp_path / "tokens"
    file.touch(mode=0o600)
    file.write_text("a-token-that-nobody-generates")
    assert not Tokens(file).admit(header)


# Packets of MQTT.


def packet(topic: bytes, properties: bytes, payload: bytes, length: int | None = None) -> bytes:
    size = len(properties) if length is None else length
    return struct.pack(">H", len(topic)) + topic + b"\0\7" + bytes([size]) + properties + payload


def text(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


@given(st.binary(max_size=80), st.integers(0, 255))
def test_any_bytes_are_a_packet_or_none(data: bytes, header: int) -> None:
    found = read_published(header, data)
    assert found is None or len(found.payload) <= len(data)


@given(st.binary(max_size=20), st.binary(max_size=20), st.binary(max_size=20))
@example(
    "plant/\N{ZERO WIDTH NO-BREAK SPACE}".encode(), "\N{ZERO WIDTH NO-BREAK SPACE}".encode(), b""
)
def test_a_packet_is_read_whatever_text_is_in_it(topic: bytes, value: bytes, body: bytes) -> None:
    properties = b"\x26" + text(b"k") + text(value) + b"\x09" + text(value) + b"\x01\x01"
    found = read_published(0x32, packet(topic, properties, body))
    pairs = (("k", value.decode(errors="replace")),)
    assert found == Published(topic.decode(errors="replace"), 1, 7, body, pairs, value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        packet(b"t", b"\x26\0\1k", b""),  # ends within a property
        packet(b"t", b"\xee", b""),  # a kind that there is none of
        packet(b"t", b"", b"", length=9),
        packet(b"t", b"\x26\0\1k\0\1v", b"x" * 9, length=4),  # its properties end within one
        struct.pack(">H", 9) + b"t",
        packet(b"t", b"", b"").replace(b"\0\7", b"\0\0"),  # QoS 1 without an id
    ],
    ids=repr,
)
def test_what_is_no_packet_is_none(data: bytes) -> None:
    assert read_published(0x32, data) is None
