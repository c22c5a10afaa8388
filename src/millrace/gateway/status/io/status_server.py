"""How a gateway does, by HTTPS: a page for people, metrics for Prometheus, health for watchers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from millrace.gateway.inputs.io.https import HttpsServer
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.inputs.io.tokens import Tokens
from millrace.gateway.spec.core.gateway_file import StatusSpec
from millrace.gateway.spec.core.input_specs import Tls
from millrace.gateway.spec.io.gateway_settings import ServerTls
from millrace.gateway.status.core.gateway_page import render_page
from millrace.gateway.status.core.gateway_state import GatewayState

_COUNTERS = {
    "taken": "Messages that came in",
    "kept": "Messages that are or were safe on disk",
    "delivered": "Messages that the broker has",
    "refused": "Messages refused for want of room",
    "malformed": "What was no message: too long, or cut short",
    "known": "Messages that were safe already, and sent again",
    "name_conflicts": "Times that two devices used one name at once",
    "connections_refused": "Connections refused, as there were as many as may be",
    "connections_cut": "Connections ended for unread answers and unended messages",
    "samples_passed_over": "Samples that no rule judged, for too many sensors over it",
    "dropped": "Messages dropped for want of room",
    "origins_forgotten": "Devices, publishers and keys that there was no room to remember",
    "names_forgotten": "Names met by a look back that there was no room for",
}
_GAUGES = {
    "dead_letters": "Messages that no broker takes",
    "resending": "Dead letters that are sent again by now",
    "damaged_bytes": "Bytes of the spool that were damaged",
    "missing": "Messages that were safe and that an older state of the spool has not",
    "connections": "Open connections",
    "waiting": "Messages that are safe and not delivered",
    "spool_bytes": "Size of the spool's files",
    "spool_limit_bytes": "What the spool may hold",
    "oldest_age_s": "Age of the eldest message that waits",
    "drain_s": "Until all that waits is delivered, as things go",
}

_COUNTERS_OF_SITE = {
    "read_back": "Messages read at the broker in search of what is delivered already",
    "topics_made_anew": "How often a topic was deleted and made anew",
    "topics_gone_back": "How often a topic came back in an older state",
    "posts_failed": "Events that were not posted to a rule's webhook",
}


Family = TypeVar("Family", CounterMetricFamily, GaugeMetricFamily)


class StatusServer:
    def __init__(
        self, spec: StatusSpec, look: Callable[[], GatewayState], handles: Handles
    ) -> None:
        self._spec = spec
        self._look = look
        self._tokens = Tokens(spec.token)
        self._registry = CollectorRegistry()
        self._registry.register(_Metrics(look))
        routes = [
            web.get("/", self._page),
            web.get("/status", self._status),
            web.get("/metrics", self._metrics),
            web.get("/health", self._health),
        ]
        self._server = HttpsServer(
            "status",
            routes,
            most_bytes=1 << 16,
            most_connections=spec.max_connections,
            handles=handles,
            tokens=self._tokens,
            tls=ServerTls(Tls(certificate=spec.certificate, key=spec.key)),
        )

    async def start(self) -> None:
        await self._server.start(*self._spec.host_port)

    def look_after(self) -> None:
        self._server.listener.look_after()
        self._server.listener.renew()
        self._tokens.renew()

    async def end(self) -> None:
        self._server.listener.stop()
        await self._server.end()

    async def _page(self, _: web.Request) -> web.Response:
        return web.Response(text=render_page(self._look()), content_type="text/html")

    async def _status(self, _: web.Request) -> web.Response:
        state = self._look()
        return web.json_response({**state.model_dump(mode="json"), "alarms": state.alarms})

    async def _metrics(self, _: web.Request) -> web.Response:
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _health(self, _: web.Request) -> web.Response:
        """It takes messages: that the broker is away is what a gateway is there for."""
        full = [one.name for one in self._look().inputs if one.obstacle]
        return web.json_response({"healthy": not full, "full": full}, status=503 if full else 200)


class _Metrics(Collector):
    def __init__(self, look: Callable[[], GatewayState]) -> None:
        self._look = look

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        state = self._look()
        for name, text in _COUNTERS.items():
            yield _by_input(CounterMetricFamily, name, text, state)
        for name, text in _GAUGES.items():
            yield _by_input(GaugeMetricFamily, name, text, state)
        up = "Whether the broker takes messages"
        yield _of_site("broker_up", up, state, 0 if state.obstacle else 1)
        if state.commands:
            yield _of_site(
                "commands_open", "Commands without an outcome", state, state.commands.open
            )
        set_text = "How often the machine's clock was set"
        yield _of_site("clock_was_set", set_text, state, state.clock_was_set)
        yield _of_site("topics_refused", "Topics that take nothing", state, len(state.refusals))
        for name, text in _COUNTERS_OF_SITE.items():
            family = CounterMetricFamily(f"millrace_gateway_{name}", text, labels=["site"])
            family.add_metric([state.site], getattr(state, name))
            yield family


def _by_input(family: type[Family], name: str, text: str, state: GatewayState) -> Family:
    made = family(f"millrace_gateway_{name}", text, labels=["site", "input"])
    for one in state.inputs:
        value = getattr(one, name)
        if value is not None:
            made.add_metric([state.site, one.name], value)
    return made


def _of_site(name: str, text: str, state: GatewayState, value: float) -> GaugeMetricFamily:
    made = GaugeMetricFamily(f"millrace_gateway_{name}", text, labels=["site"])
    made.add_metric([state.site], value)
    return made
