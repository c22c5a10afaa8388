"""The spool of what rules tell; whoever finds something writes it himself, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable

from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io.spool_files import Spool


class EventLog:
    def __init__(self, spool: Spool, on_durable: Callable[[], None]) -> None:
        self.spool = spool
        self._on_durable = on_durable
        self._lock = threading.Lock()

    def keep(self, drafts: list[Draft]) -> list[Entry]:
        """On disk when it returns, but for those that were told before."""
        with self._lock:
            kept = self.spool.keep(drafts)
        self._on_durable()
        return kept
