"""Regular expressions that Python and Java read alike are taken; others are refused."""

from __future__ import annotations

import pytest

from millrace.expectations.core.regex import check_regex


@pytest.mark.parametrize(
    "pattern",
    [
        "(?P<a>x)",
        r"\Z",
        r"\N{DASH}",
        "(a",
        "[[]",
        "[a&&b]",
        "[]a]",
        "{",
        "a{,3}",
        r"\q",
        "(?#x)",
        r"[\b]",
        "a{2",
    ],
)
def test_what_java_reads_otherwise_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z][a-z0-9-]*$",
        r"\p{L}+",
        r"a{1,3}",
        r"a{2,}",
        r"\{\}",
        r"[\[\]]",
        r"(?i)x|y",
        r"(?<=a)b",
    ],
)
def test_common_patterns_are_taken(pattern: str) -> None:
    assert check_regex(pattern) == pattern
