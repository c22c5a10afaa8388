"""The guide's worker, held in a window of its work until its mark is taken away.

python -m tests.integration.stands.services.held_worker before|inside|after MARK [the worker's own
words]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from examples import worker
from tests.support import wait_until

WINDOWS = ("before", "inside", "after")
_LONGER_THAN_ANY_TEST_S = 600


def main(window: str, mark: Path) -> None:
    held = False

    def hold(here: str) -> None:
        nonlocal held
        if here == window and not held:
            held = True
            mark.touch()
            wait_until(lambda: not mark.exists(), _LONGER_THAN_ANY_TEST_S)

    decode = worker.decode

    def held_decode(value: bytes) -> dict[str, Any]:
        hold("inside")
        return decode(value)

    class HeldStore(worker.Store):
        def add(self, partition: int, before: int, messages: list[Message]) -> bool:
            hold("before")
            is_ours = super().add(partition, before, messages)
            hold("after")
            return is_ours

    worker.decode = held_decode
    worker.Store = HeldStore  # type: ignore[misc]
    worker.main()


if __name__ == "__main__":
    _, window, mark, *words = sys.argv
    sys.argv = ["worker", *words]
    main(window, Path(mark))
