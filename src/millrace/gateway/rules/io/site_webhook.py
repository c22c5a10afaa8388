"""Posts what rules have told to addresses of the site: soon, and a few times where it fails."""

from __future__ import annotations

import asyncio
import logging

import aiohttp

from millrace.base.errors import MillraceError
from millrace.gateway.rules.core.rule_spec import RuleSpec
from millrace.storage.io.webhook_address import read_webhook_address

log = logging.getLogger(__name__)
_TIMEOUT = aiohttp.ClientTimeout(total=5)
_PAUSES_S = (0.5, 1.0, 2.0)
MOST_WAITING = 1_000
_MOST_CONNECTIONS = 8


def address_of(rule: RuleSpec) -> str:
    if rule.webhook is None:
        return ""
    return read_webhook_address(rule.webhook, "webhook", may_be_plain=rule.risk is not None)


class Webhooks:
    """An event that cannot be posted is counted; it stands in its topic all the same."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self.posted = self.failed = 0

    @property
    def waiting(self) -> int:
        return len(self._tasks)

    def post(self, rule: RuleSpec, event: bytes) -> None:
        if rule.webhook is None:
            return
        if self.waiting >= MOST_WAITING:
            self.failed += 1
            return
        task = asyncio.get_running_loop().create_task(self._deliver(rule, event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        if self._session:
            await self._session.close()

    async def _deliver(self, rule: RuleSpec, event: bytes) -> None:
        for pause_s in (*_PAUSES_S, None):
            problem = await self._try(rule, event)
            if problem is None:
                self.posted += 1
                return
            if pause_s is not None:
                await asyncio.sleep(pause_s)
        self.failed += 1
        log.warning("rule %s: its webhook does not answer: %s", rule.name, problem)

    async def _try(self, rule: RuleSpec, event: bytes) -> str | None:
        """None, or what is wrong. The address is never in it: it is as good as a password."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=_MOST_CONNECTIONS)
            self._session = aiohttp.ClientSession(timeout=_TIMEOUT, connector=connector)
        headers = {"Content-Type": "application/json"}
        try:
            # A redirection would hand the event, and what is in the address, to somebody else.
            async with self._session.post(
                address_of(rule), data=event, headers=headers, allow_redirects=False
            ) as answer:
                return None if answer.status < 300 else f"status {answer.status}"
        except MillraceError as error:
            return str(error)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return type(error).__name__
