"""The wish to stop: a signal, or the end of whoever started the job."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field


@dataclass
class StopRequest:
    parent: int = field(default_factory=os.getppid)
    reason: str = ""
    _asked: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def install(cls) -> StopRequest:
        request = cls()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: request.ask(signal.Signals(got).name))
        return request

    def ask(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._asked.set()

    def wait(self, timeout_s: float) -> bool:
        """True when the job is to stop."""
        if os.getppid() != self.parent:
            self.ask("the process that started the job is gone")
        return self._asked.wait(timeout_s)
