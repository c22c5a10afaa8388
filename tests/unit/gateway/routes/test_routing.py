"""Topic and key, as a message tells them."""

from __future__ import annotations

import pytest

from millrace.gateway.routes.core.routes import AmongField, Before, FromField, FromLevel, KeyRule
from millrace.gateway.routes.io.routing import Router


@pytest.mark.parametrize(
    ("rule", "message", "key"),
    [
        (None, b"anything", None),
        (FromField(field="$.id"), b'{"v":1,"id":"s1"}', b"s1"),
        (FromField(field="$.id"), b'{"id":7}', b"7"),
        (FromField(field="$.meta.id"), b'{"meta":{"id":"s1"}}', b"s1"),
        (FromField(field="$.meta.id"), b'{"meta":"s1"}', None),
        (FromField(field="$.meta.id"), b'{"meta":null}', None),
        (FromField(field="$.id"), b'{"id":null}', None),
        (FromField(field="$.id"), b'{"id":true}', None),
        (FromField(field="$.id"), b'{"id":{"a":1}}', None),
        (FromField(field="$.id"), b"[1,2]", None),
        (FromField(field="$.id"), b"no json", None),
        (FromField(field="$.id"), b'{"id":"\xff"}', None),
        (FromField(field="$.id"), b'{"id":"' + b"k" * 70_000 + b'"}', None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_key_is_told_by_the_message_or_there_is_none(rule: KeyRule, message, key):
    draft = Router("t", rule).draft(message)
    assert (draft.key, draft.value, draft.topic) == (key, message, b"t")


def test_a_key_may_stand_before_the_message():
    router = Router("t", Before(before="\t"))
    assert router.draft(b"s1\t\x00\x01\t2")[1:3] == (b"s1", b"\x00\x01\t2")
    assert router.draft(b"no mark")[1:3] == (None, b"no mark")


@pytest.mark.parametrize(
    ("level", "path", "key"),
    [
        (1, "plant/press-7/state", b"plant"),
        (2, "plant/press-7/state", b"press-7"),
        (4, "plant/press-7/state", None),
        (2, "/press-7", b"press-7"),
        (1, "/press-7", b""),
        (1, "", b""),
    ],
)
def test_a_key_may_be_a_level_of_the_mqtt_topic(level, path, key):
    draft = Router("t", FromLevel(level=level)).draft(b'{"v":1}', path=path)
    assert (draft.key, draft.value) == (key, b'{"v":1}')


@pytest.mark.parametrize(
    ("message", "topic"),
    [(b'{"kind":"a"}', b"a"), (b'{"kind":"z"}', b""), (b'{"kind":[]}', b""), (b"no json", b"")],
)
def test_a_topic_told_by_the_message_is_one_of_those_allowed(message, topic):
    rule = AmongField(field="$.kind", among=("a", "b"))
    assert Router(rule, None).draft(message).topic == topic
