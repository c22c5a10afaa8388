"""Who may be called how."""

from __future__ import annotations

import pytest

from millrace.gateway.inputs.core.greeting import may_be_called, name_in, owner_of


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (b"HELLO robot-17", "robot-17"),
        (b"HELLO cell-4/arm.2:left", "cell-4/arm.2:left"),
        (b"HELLO ", None),
        (b"HELLO two words", None),
        (b"hello robot-17", None),
        (b"HELLO " + b"n" * 201, None),
    ],
)
def test_a_greeting_is_a_word_and_a_name(message: bytes, name: str | None) -> None:
    assert name_in(message) == name


@pytest.mark.parametrize(
    ("name", "owner", "may"),
    [
        ("cell-4", "cell-4", True),
        ("cell-4/arm", "cell-4", True),
        ("cell-40", "cell-4", False),
        ("cell-5", "cell-4", False),
        ("/arm", "", False),
        ("cell-4", "", False),
    ],
)
def test_a_device_has_its_certificates_name(name: str, owner: str, may: bool) -> None:
    assert may_be_called(name, owner) is may


def test_the_owner_is_the_common_name() -> None:
    subject = ((("organizationName", "Millrace"),), (("commonName", "cell-4"),))
    assert owner_of({"subject": subject}) == "cell-4"
    assert owner_of({}) == owner_of(None) == ""
