"""What `up` and `down` say while they work: a line for each thing done, and what they wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

_REMIND_S = 15.0
_NAMED = 3


class Progress:
    """Safe to use from many threads. On a terminal a spinner, elsewhere a line now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._waiting: list[str] = []
        self._done = threading.Event()
        self._status = console.status("")

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        reminder = threading.Thread(target=self._remind, daemon=True)
        with self._status:
            reminder.start()
            try:
                yield self
            finally:
                self._done.set()
                reminder.join()

    def say(self, text: str) -> None:
        seconds = time.monotonic() - self._began
        self._console.print(f"{seconds:5.1f} s  {escape(text)}", highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, what: str, done: str) -> Iterator[None]:
        """`what` is waited for until the block ends, then `done` is said."""
        self._waiting.append(what)
        self._show()
        try:
            yield
            self.say(done)
        finally:
            self._waiting.remove(what)
            self._show()

    def _show(self) -> None:
        self._status.update(escape(summed_up(self._waiting)))

    def _remind(self) -> None:
        while not self._done.wait(_REMIND_S):
            if self._waiting and not self._console.is_terminal:
                self.say(f"... {summed_up(self._waiting)}")


def summed_up(names: list[str]) -> str:
    """In one line, however many there are."""
    more = len(names) - _NAMED
    named = names if more <= 1 else [*names[:_NAMED], f"and {more} more"]
    return ", ".join(named)
