"""All rules of a gateway: who follows which input, and the spool of what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from millrace.gateway.delivery.io.courier import Courier, courier_of
from millrace.gateway.rules.core.rule_spec import RuleSpec
from millrace.gateway.rules.io.event_log import EventLog
from millrace.gateway.rules.io.rule_follower import RuleFollower, topics_of
from millrace.gateway.rules.io.site_webhook import Webhooks, address_of
from millrace.gateway.spec.core.gateway_file import EVENTS, GatewaySpec
from millrace.gateway.spec.core.input_specs import SpoolSpec
from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.io.spool_files import Spool

_SPOOL = SpoolSpec(size=256 << 20, segment=8 << 20)


@dataclass
class RulesDesk:
    spool: Spool
    courier: Courier
    topics: list[str]
    followers: dict[str, RuleFollower]
    webhooks: Webhooks

    @classmethod
    def of(
        cls,
        spec: GatewaySpec,
        spools: Mapping[str, Spool],
        wake: Callable[[], None],
    ) -> RulesDesk | None:
        """None where no input has a rule."""
        topics = topics_of(rule for one in spec.inputs for rule in one.rules)
        if not topics:
            return None
        folder = spec.data / EVENTS
        # A rule's count may be older than this spool.
        spool = Spool(folder / "spool", _SPOOL.bounds, waits_for_missing=False)
        events = EventLog(spool, wake)
        webhooks = Webhooks()
        for one in spec.inputs:
            for rule in one.rules:
                address_of(rule)  # an error here is better than one with the first event
        loop = asyncio.get_running_loop()

        def on_told(rule: RuleSpec, event: bytes) -> None:
            if rule.webhook:
                loop.call_soon_threadsafe(webhooks.post, rule, event)

        followers = {
            one.name: RuleFollower(
                one.name,
                spools[one.name],
                one.rules,
                spec.data / one.name / "rules.json",
                events,
                on_told,
            )
            for one in spec.inputs
            if one.rules
        }
        courier = courier_of(spec.site, EVENTS, spool, folder)
        return cls(spool, courier, topics, followers, webhooks)

    def passed_over(self, name: str) -> int:
        return self.followers[name].passed_over if name in self.followers else 0

    def start(self) -> None:
        for follower in self.followers.values():
            follower.start()

    def on_kept(self, name: str, entries: Sequence[Entry]) -> None:
        if name in self.followers:
            self.followers[name].on_kept(entries)

    async def end(self) -> None:
        for follower in self.followers.values():
            await asyncio.to_thread(follower.end)
        await self.webhooks.end()

    def failures(self) -> dict[str, BaseException | None]:
        return {follower.name: follower.failure for follower in self.followers.values()}
