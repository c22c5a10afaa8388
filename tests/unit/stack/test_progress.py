from __future__ import annotations

import pytest

from millrace.stack.io.progress import summed_up


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (2, "part 0, part 1"),
        (4, "part 0, part 1, part 2, part 3"),
        (5, "part 0, part 1, part 2, and 2 more"),
        (50, "part 0, part 1, part 2, and 47 more"),
    ],
)
def test_what_is_waited_for_fits_in_a_line(count: int, said: str) -> None:
    assert summed_up([f"part {number}" for number in range(count)]) == said
