"""One site's gateway, from the first socket to the last message that is safe."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

from millrace.base.errors import MillraceError
from millrace.gateway.delivery.io.courier import Courier, courier_of
from millrace.gateway.delivery.io.dead_letters import DeadLetters
from millrace.gateway.delivery.io.deliverer import Delivery
from millrace.gateway.delivery.io.link import Link
from millrace.gateway.delivery.io.progress_file import read_progress
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.routes.io.routing import Router
from millrace.gateway.service.io.command_parts import CommandLine
from millrace.gateway.service.io.gateway_view import GatewayView, Line
from millrace.gateway.service.io.input_servers import server_of
from millrace.gateway.service.io.resend import Resend
from millrace.gateway.service.io.rule_parts import RulesDesk
from millrace.gateway.spec.core.gateway_file import EVENTS, GatewaySpec, Input
from millrace.gateway.spec.io.gateway_settings import read_client, read_login, site_of
from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.io.clock import Clock, ClockWatch
from millrace.gateway.spool.io.committer import Committer, Outcome, ReceivedBatch
from millrace.gateway.spool.io.data_folder import hold
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.status.io.status_server import StatusServer
from millrace.kafka.core.platform_topics import OUTCOMES
from millrace.sites.core.spec import ClientSettings

log = logging.getLogger(__name__)
_LOOK_EVERY_S = 1.0
_LAST_DELIVERY_S = 5.0
# Threads hand over to each other this often: who waits for an answer does not wait for who reads.
_SWITCH_S = 0.001


class Gateway:
    """Built and run in one event loop."""

    def __init__(self, spec: GatewaySpec) -> None:
        sys.setswitchinterval(_SWITCH_S)
        self.spec = spec
        # Before anything in it is opened.
        self._hold = hold(spec.data)
        self._loop = asyncio.get_running_loop()
        # An input's spool each, that of events, that of outcomes.
        self._handles = Handles(len(spec.inputs) + 2)
        self._clock = ClockWatch(Clock())
        self.commands = (
            CommandLine(spec, self._tell, self._wake_urgent) if spec.takes_commands else None
        )
        self.lines = [self._line(one) for one in spec.inputs]
        shifts_s = [line.committer.spool.life.clock_was_set_s for line in self.lines]
        self._clock.note(max(shifts_s, key=abs))
        spools = {line.spec.name: line.committer.spool for line in self.lines}
        self.desk = RulesDesk.of(spec, spools, self._wake_urgent)
        self.delivery = self._make_delivery()
        self.urgent = self._make_urgent_delivery()
        look = self.commands.look if self.commands else None
        self._view = GatewayView(
            spec.site, spec.risks, self.lines, self.deliveries, self.desk, look, self._clock
        )
        self._status = (
            StatusServer(spec.status, self._view.look, self._handles) if spec.status else None
        )
        self._handles.say_if_short()

    @property
    def deliveries(self) -> list[Delivery]:
        return [one for one in (self.delivery, self.urgent) if one]

    async def start(self) -> None:
        for delivery in self.deliveries:
            delivery.start()
        if self.desk:
            self.desk.start()
        for line in self.lines:
            line.committer.start()
        if self.commands:
            self.commands.start()
        for line in self.lines:
            await line.server.start()
        if self._status:
            await self._status.start()

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`; an error where something broke that only a new start can mend."""
        while not stop.is_set():
            self._check()
            self._look_after()
            await asyncio.to_thread(self._look_after_letters)
            try:
                await asyncio.wait_for(stop.wait(), _LOOK_EVERY_S)
            except TimeoutError:
                continue

    async def end(self) -> None:
        """Nothing more is taken; what is safe is answered, and delivered if that is soon done."""
        for line in self.lines:
            await line.server.stop_listening()
        if self.commands:
            await self.commands.end()
        for line in self.lines:
            await asyncio.to_thread(line.committer.end)
        await asyncio.sleep(0)  # the last answers are written
        for line in self.lines:
            await line.server.end()
        if self.desk:
            await self.desk.end()
        ending = (asyncio.to_thread(one.end, _LAST_DELIVERY_S) for one in self.deliveries)
        again = (asyncio.to_thread(line.resend.end, _LAST_DELIVERY_S) for line in self.lines)
        await asyncio.gather(*ending, *again)
        if self._status:
            await self._status.end()
        for line in self.lines:
            line.committer.spool.close()
        if self.desk:
            self.desk.spool.close()
        if self.commands:
            self.commands.close()
        self._hold.close()

    def _line(self, spec: Input) -> Line:
        folder = self.spec.data / spec.name
        bounds = spec.spool.bounds
        spool = Spool(folder / "spool", bounds, waits_for_missing=spec.is_sent_again)
        on_durable = partial(self._on_durable, spec.name)
        committer = Committer(spec.name, spool, spec.at_bound, self._tell, on_durable)
        intake = Intake(Router(spec.topic, spec.key), committer)
        base = read_progress(folder / "progress").within(spool.next_index).base
        letters = DeadLetters(folder, spec.dead_letters, base)
        courier = courier_of(self.spec.site, spec.name, spool, folder, letters)
        resend = Resend(self.spec.site, spec, folder, letters, self._connect({}))
        commander = self.commands.commander if self.commands else None
        server = server_of(spec, intake, self._handles, commander)
        return Line(spec, committer, intake, courier, server, resend)

    def _make_delivery(self) -> Delivery:
        couriers = [line.courier for line in self.lines]
        topics: dict[str, Sequence[str]] = {line.spec.name: line.spec.topics for line in self.lines}
        return self._delivery("delivery", couriers, topics, {})

    def _make_urgent_delivery(self) -> Delivery | None:
        """Of what is rare and waits for nothing: neither for more of its kind nor behind data."""
        couriers: list[Courier] = []
        topics: dict[str, Sequence[str]] = {}
        if self.desk:
            couriers.append(self.desk.courier)
            topics[EVENTS] = self.desk.topics
        if self.commands:
            couriers.append(self.commands.courier)
            topics[self.commands.courier.name] = (OUTCOMES,)
        if not couriers:
            return None
        return self._delivery("urgent delivery", couriers, topics, {"linger.ms": 0})

    def _delivery(
        self,
        name: str,
        couriers: list[Courier],
        topics: dict[str, Sequence[str]],
        own: ClientSettings,
    ) -> Delivery:
        patience = self.spec.broker.patience
        patience_s = patience / timedelta(seconds=1) if patience else None
        return Delivery(name, couriers, topics, self._connect(own), patience_s)

    def _connect(self, own: ClientSettings) -> Callable[[], Link]:
        settings = read_client(self.spec)
        site, login = site_of(self.spec, settings), partial(read_login, self.spec, settings)
        return partial(Link, site, {**settings, **own}, login)

    def _tell(self, answers: list[tuple[ReceivedBatch, Outcome]]) -> None:
        self._loop.call_soon_threadsafe(_answer, answers)

    def _on_durable(self, name: str, entries: list[Entry]) -> None:
        self.delivery.wake()
        if self.desk:
            self.desk.on_kept(name, entries)

    def _wake_urgent(self) -> None:
        if self.urgent:
            self.urgent.wake()

    def _look_after(self) -> None:
        self._view.note(self._loop.time())
        self._clock.look()
        for line in self.lines:
            line.server.look_after()
        if self._status:
            self._status.look_after()

    def _look_after_letters(self) -> None:
        for line in self.lines:
            line.resend.look_after()

    def _check(self) -> None:
        failures = {line.spec.name: line.committer.failure for line in self.lines}
        again = [line.resend.delivery for line in self.lines if line.resend.delivery]
        failures |= {one.name: one.failure for one in [*self.deliveries, *again]}
        if self.desk:
            failures |= self.desk.failures()
        if self.commands:
            failures["commands"] = self.commands.failure
        for name, failure in failures.items():
            if failure:
                raise MillraceError(f"{name} has failed: {failure}") from failure


def _answer(answers: list[tuple[ReceivedBatch, Outcome]]) -> None:
    for batch, outcome in answers:
        batch.answer(batch, outcome)
