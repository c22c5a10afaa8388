"""Amounts of bytes, read and written."""

from __future__ import annotations

import pytest

from millrace.base.size import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("64 MB", 64 << 20), ("1.5 KB", 1536), ("10gb", 10 << 30), ("7 B", 7), (1_000_000, 1_000_000)],
)
def test_a_size_is_a_number_and_a_unit(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["64", "64 MiB", "much", "-1 MB", True])
def test_anything_else_is_refused_with_the_way_out(text):
    with pytest.raises(ValueError, match="write a number and one of B, KB, MB, GB, TB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1 << 20, "1 MB"), (3 << 29, "1.5 GB")]
)
def test_a_size_is_written_in_the_unit_that_fits(size, text):
    assert format_size(size) == text
