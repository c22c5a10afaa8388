"""What the command `millrace relay` understands."""

from __future__ import annotations

import pytest

from millrace.base.errors import MillraceError
from millrace.kafka.core.coordinates import Part
from millrace.relay.cli import read_part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("plant-a/temperature-data/0", (Part("plant-a", "temperature-data", 0), None)),
        ("plant-a/t.x_y/12:345", (Part("plant-a", "t.x_y", 12), 345)),
    ],
)
def test_a_partition_and_where_to_go_on(text, part):
    assert read_part(text) == part


@pytest.mark.parametrize("text", ["plant-a/t", "plant-a/t/x", "plant-a/t/0:", "t-0", ""])
def test_what_names_no_partition_is_told_how(text):
    with pytest.raises(MillraceError, match="such as plant-a/temperature-data/0"):
        read_part(text)
