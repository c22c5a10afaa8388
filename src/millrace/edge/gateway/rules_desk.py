"""All rules of a gateway: who follows which input, and the spool of what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millrace.core.gateway.bounds import AtBound
from millrace.core.gateway.inputs import SpoolSpec
from millrace.core.gateway.spec import EVENTS, GatewaySpec
from millrace.edge.gateway.committer import Batch, Committer, Outcome
from millrace.edge.gateway.courier import Courier
from millrace.edge.gateway.rules import RuleFollower, topics_of
from millrace.edge.gateway.spool import Spool
from millrace.edge.gateway.webhook import Webhooks

_SPOOL = SpoolSpec(size=256 << 20, segment=8 << 20)


@dataclass
class RulesDesk:
    committer: Committer
    courier: Courier
    topics: list[str]
    followers: dict[str, RuleFollower]
    webhooks: Webhooks

    @classmethod
    def of(
        cls,
        spec: GatewaySpec,
        spools: Mapping[str, Spool],
        tell: Callable[[list[tuple[Batch, Outcome]]], None],
        wake: Callable[[], None],
    ) -> RulesDesk | None:
        """None where no input has a rule."""
        topics = topics_of(rule for one in spec.inputs for rule in one.rules)
        if not topics:
            return None
        folder = spec.data / EVENTS
        spool = Spool(folder / "spool", _SPOOL.bounds)
        committer = Committer(EVENTS, spool, AtBound.BLOCK, tell, wake)
        webhooks = Webhooks()
        followers = {
            one.name: RuleFollower(
                one.name,
                spools[one.name],
                one.rules,
                spec.data / one.name / "rules.json",
                committer,
                webhooks.post,
            )
            for one in spec.inputs
            if one.rules
        }
        return cls(
            committer, Courier(spec.site, EVENTS, spool, folder), topics, followers, webhooks
        )

    def start(self) -> None:
        self.committer.start()
        for follower in self.followers.values():
            follower.start()

    def wake(self, name: str) -> None:
        if name in self.followers:
            self.followers[name].wake()

    async def end(self) -> None:
        for follower in self.followers.values():
            await asyncio.to_thread(follower.end)
        await asyncio.to_thread(self.committer.end)
        await self.webhooks.end()

    def failures(self) -> dict[str, BaseException | None]:
        found = {follower.name: follower.failure for follower in self.followers.values()}
        return {**found, EVENTS: self.committer.failure}
