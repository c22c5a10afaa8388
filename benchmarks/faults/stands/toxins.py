"""A proxy in the link from gateway to broker, which does what no firewall can: it tears connections
in the middle of an answer, swallows answers alone, delays and cuts to pieces.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.machine import ImpossibleError, detour, hang_up, rule
from benchmarks.faults.stands.stand import Stand
from tests.support import free_ports, wait_until

_PROGRAM = "toxiproxy-server"
_HOW_TO_GET_IT = (
    f"there is no program {_PROGRAM} on the PATH; `go install"
    " github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0` makes it, by the name of `server`"
)
# Nobody, and so the one whose connections to the broker are not led astray.
_UID = 65534
_HANGS_UP_S, _SETTLES_S = 0.5, 3.0
Toxic = tuple[str, str, dict[str, Any]]


@contextmanager
def _poisoned(stand: Stand, *toxics: Toxic) -> Iterator[None]:
    """All connections to the broker lead through the proxy by now, and work; then no more."""
    port, link = free_ports(2), "/proxies/link"
    with ExitStack() as stack:
        proxies = stack.enter_context(_server(port))
        upstream = f"127.0.0.1:{stand.broker_port}"
        proxy = {"name": "link", "listen": f"127.0.0.1:{port + 1}", "upstream": upstream}
        proxies.post("/proxies", json=proxy).raise_for_status()
        with rule(hang_up(stand.broker_port)):
            stand.pass_s(_HANGS_UP_S)
            stack.enter_context(detour(stand.broker_port, port + 1, _UID))
        stand.pass_s(_SETTLES_S)
        for kind, stream, attributes in toxics:
            toxic = {"type": kind, "stream": stream, "attributes": attributes}
            proxies.post(f"{link}/toxics", json=toxic).raise_for_status()
        yield


@contextmanager
def _server(port: int) -> Iterator[httpx.Client]:
    program = shutil.which(_PROGRAM)
    if program is None:
        raise ImpossibleError(_HOW_TO_GET_IT)
    nobody = ("setpriv", f"--reuid={_UID}", f"--regid={_UID}", "--clear-groups")
    command = (*nobody, program, "-host", "127.0.0.1", "-port", str(port))
    nowhere = subprocess.DEVNULL
    with (
        subprocess.Popen(command, stdout=nowhere, stderr=nowhere) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        try:
            wait_until(lambda: _answers(client), 10, "toxiproxy")
            yield client
        finally:
            process.kill()


def _answers(client: httpx.Client) -> bool:
    with suppress(httpx.TransportError):
        return client.get("/version").is_success
    return False


def _both(kind: str, **attributes: int) -> tuple[Toxic, Toxic]:
    return (kind, "upstream", attributes), (kind, "downstream", attributes)


@fault("link-torn", "gateway to broker, by toxiproxy: each connection is closed after 60 KB of"
       " requests or 12 KB of answers, wherever that is, for 20 s")  # fmt: skip
def link_torn(stand: Stand) -> None:
    requests = ("limit_data", "upstream", {"bytes": 60_000})
    answers = ("limit_data", "downstream", {"bytes": 12_000})
    with _poisoned(stand, requests, answers):
        stand.pass_s(20)


@fault("link-late", "gateway to broker, by toxiproxy: 0.5 s late, give or take 0.4 s, in pieces of"
       " some 300 bytes, both ways, for 20 s")  # fmt: skip
def link_late(stand: Stand) -> None:
    late = _both("latency", latency=500, jitter=400)
    pieces = _both("slicer", average_size=300, size_variation=200, delay=10)
    with _poisoned(stand, *late, *pieces):
        stand.pass_s(20)


@fault("answers-lost", "gateway to broker, by toxiproxy: what is sent arrives, and no answer comes"
       " back, for 20 s")  # fmt: skip
def answers_lost(stand: Stand) -> None:
    with _poisoned(stand, ("timeout", "downstream", {"timeout": 0})):
        stand.pass_s(20)
