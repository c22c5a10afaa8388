"""Looks at a running gateway: counters as they are, rates since the last second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.delivery.io.deliverer import Delivery
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.service.io.input_servers import Server
from millrace.gateway.service.io.resend import Resend
from millrace.gateway.service.io.rule_parts import RulesDesk
from millrace.gateway.spec.core.gateway_file import Input
from millrace.gateway.spool.io.clock import ClockWatch
from millrace.gateway.spool.io.committer import Committer
from millrace.gateway.status.core.gateway_state import CommandsState, GatewayState, InputState

_SPAN_S = 10.0


@dataclass(frozen=True)
class Line:
    """An input with all that belongs to it."""

    spec: Input
    committer: Committer
    intake: Intake
    courier: Courier
    server: Server
    resend: Resend


class Rate:
    """Of a counter, over the last seconds."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, int]] = []

    def note(self, now_s: float, count: int) -> None:
        self._seen.append((now_s, count))
        while len(self._seen) > 2 and self._seen[1][0] < now_s - _SPAN_S:
            self._seen.pop(0)

    @property
    def per_s(self) -> float:
        if len(self._seen) < 2:
            return 0.0
        (first_s, first), (last_s, last) = self._seen[0], self._seen[-1]
        return (last - first) / max(last_s - first_s, 0.001)


class GatewayView:
    def __init__(
        self,
        site: str,
        risks: tuple[str, ...],
        lines: Sequence[Line],
        deliveries: Sequence[Delivery],
        desk: RulesDesk | None,
        commands: Callable[[], CommandsState] | None,
        clock: ClockWatch,
    ) -> None:
        self._site = site
        self._risks = risks
        self._desk = desk
        self._commands = commands
        self._clock = clock
        self._lines = lines
        self._deliveries = deliveries
        self._taken = {line.spec.name: Rate() for line in lines}
        self._delivered = {line.spec.name: Rate() for line in lines}

    def note(self, now_s: float) -> None:
        for line in self._lines:
            self._taken[line.spec.name].note(now_s, line.intake.taken)
            self._delivered[line.spec.name].note(now_s, line.courier.delivered)

    def look(self) -> GatewayState:
        return GatewayState(
            site=self._site,
            risks=self._risks,
            inputs=tuple(self._input(line) for line in self._lines),
            commands=self._commands() if self._commands else None,
            clock_was_set=self._clock.count,
            obstacle=next((one.obstacle for one in self._deliveries if one.obstacle), ""),
            refusals={
                topic: reason for one in self._deliveries for topic, reason in one.refusals.items()
            },
            read_back=sum(one.forwarder.read_back for one in self._deliveries),
            topics_made_anew=sum(one.forwarder.made_anew for one in self._deliveries),
            topics_gone_back=sum(one.forwarder.gone_back for one in self._deliveries),
            posts_failed=self._desk.webhooks.failed if self._desk else 0,
        )

    def _input(self, line: Line) -> InputState:
        spec, spool, courier = line.spec, line.committer.spool, line.courier
        return InputState(
            name=spec.name,
            kind=spec.kind,
            listen=spec.where,
            taken=line.intake.taken,
            kept=line.committer.kept,
            delivered=courier.delivered,
            refused=line.committer.refused + line.intake.refused,
            malformed=line.intake.malformed,
            known=line.committer.known,
            name_conflicts=line.intake.contested.count,
            contested=line.intake.contested.names(time.monotonic()),
            connections_refused=line.server.refused_connections,
            connections_cut=line.intake.cut,
            samples_passed_over=self._desk.passed_over(spec.name) if self._desk else 0,
            dropped=spool.dropped,
            dead_letters=courier.dead_letters.count,
            resending=line.resend.waiting,
            origins_forgotten=spool.origins_forgotten,
            names_forgotten=courier.names_forgotten,
            damaged_bytes=courier.reader.damaged_bytes,
            missing=spool.life.missing,
            connections=line.server.connection_count,
            waiting=courier.waiting,
            spool_bytes=spool.size,
            spool_limit_bytes=spec.spool.size,
            oldest_age_s=spool.oldest_age_s,
            taken_per_s=self._taken[spec.name].per_s,
            delivered_per_s=self._delivered[spec.name].per_s,
            obstacle=line.committer.obstacle or line.intake.obstacle,
            held_up=courier.held_up,
        )
