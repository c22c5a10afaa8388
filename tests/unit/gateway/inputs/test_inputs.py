"""What an input of a gateway's file may ask for."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.routes.io.fields import field_reader
from millrace.gateway.spec.core.gateway_file import Input
from millrace.gateway.spec.core.input_specs import MOST_READ_BYTES

LARGE = {
    "name": "tcp",
    "kind": "tcp",
    "listen": "0.0.0.0:7001",
    "plain": True,
    "risk": RISK,
    "topic": "t",
    "max_message": "64 MB",
    "spool": {"segment": "128 MB"},
}
RULE = {"name": "hot", "sensor": "$.id", "value": "$.v", "above": 80, "topic": "events"}
READING = {
    "key": {"key": {"field": "$.id"}},
    "topic": {"topic": {"field": "$.kind", "among": ["t"]}},
    "rules": {"rules": [RULE]},
}


def load(**values: Any) -> Any:
    return TypeAdapter(Input).validate_python(LARGE | values)


@pytest.mark.parametrize("reading", READING.values(), ids=READING)
def test_fields_are_read_of_messages_of_8_mb_at_most(reading):
    with pytest.raises(ValidationError, match="max_message=67108864"):
        load(**reading)
    assert load(max_message="8 MB", **reading).max_message == MOST_READ_BYTES


@pytest.mark.parametrize("key", [None, {"before": ";"}])
def test_messages_of_which_no_field_is_read_may_be_larger(key):
    assert load(key=key).max_message == 64 << 20


@pytest.mark.parametrize(
    "filling", [b"[],", b"1,", b'{"a":1},'], ids=["lists", "numbers", "objects"]
)
def test_a_field_of_the_largest_message_is_read_in_a_tenth_of_a_second(filling):
    """Of processor time, whatever else this machine does."""
    message = b'{"pad":[' + filling * (MOST_READ_BYTES // len(filling)) + b'1],"id":"a"}'
    read, began_s = field_reader("$.id"), time.thread_time()
    assert read(message) == "a"
    assert time.thread_time() - began_s < 0.1
