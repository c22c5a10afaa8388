"""Runs the race on this machine: a broker, a gateway, two providers, a consumer; all with TLS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import Manager, get_context
from pathlib import Path

import psutil

from millrace.base.errors import MillraceError
from millrace.gateway.bundle.io.local_gateway import prepare_gateway
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.kafka.io.client_errors import UnreachableError
from millrace.latency_benchmark.core import PROVIDERS, Lap, Race
from millrace.latency_benchmark.io.message_runners import Way, consume, provide
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.provisioning.io.site_admin import provision_as_admin
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.sites.core.user_names import APP
from millrace.stack.io.brokers.local_broker import prepare_broker

_TOPIC, _PARTITIONS = "race", 2
_START_S, _SILENCE_S = 60.0, 30.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Track:
    """What stays from lap to lap."""

    layout: Platform
    site: SiteSpec
    way: Way
    gateway: psutil.Process
    broker: psutil.Process


def run_race(race: Race, layout: Platform, first_port: int, say: Say) -> Iterator[Lap]:
    """`layout`: of a folder that is used for nothing else."""
    with ExitStack() as stack:
        say("starting a broker and a gateway ...")
        track = stack.enter_context(_track(layout, first_port))
        for rate in race.rates:
            for _ in range(race.runs):
                yield _run_lap(race, rate, track)


@contextmanager
def _track(layout: Platform, first_port: int) -> Iterator[Track]:
    site = SiteSpec(name="race", bootstrap=f"127.0.0.1:{first_port}", local=LocalBroker())
    with ExitStack() as stack:
        broker = stack.enter_context(_running(prepare_broker(site, layout)))
        pipeline = PipelineSpec(
            name="race", sites=("race",), topics=(_TOPIC,), format="json", table="race",
            partitions=_PARTITIONS,
        )  # fmt: skip
        _wait(lambda: _is_provisioned(layout, site, pipeline), "the broker answers")
        program, way = _prepare_gateway(layout, site, first_port + 3)
        gateway = stack.enter_context(_running(program))
        _wait(lambda: "is ready" in program.log.read_text(), "the gateway listens")
        yield Track(layout, site, way, psutil.Process(gateway.pid), psutil.Process(broker.pid))


def _run_lap(race: Race, rate: int, track: Track) -> Lap:
    user = ensure_user(track.layout, track.site.name, APP)
    settings = librdkafka_settings(track.site, track.layout.ca, user.username, user.password)
    with Manager() as manager, ProcessPoolExecutor(PROVIDERS + 1, get_context("spawn")) as pool:
        go = manager.Event()
        readies = [manager.Event() for _ in range(PROVIDERS + 1)]
        sent = race.each * PROVIDERS
        tally = pool.submit(
            consume, settings, _TOPIC, _PARTITIONS, sent, readies[0], _SILENCE_S + _start_s(race)
        )
        moments = [
            pool.submit(provide, race, number, rate / PROVIDERS, track.way, readies[number + 1], go)
            for number in range(PROVIDERS)
        ]
        for ready in readies:
            if not ready.wait(_start_s(race)):
                raise MillraceError("the race does not start: its parts are not ready in time")
        before = _cpu(track)
        go.set()
        return _lap(rate, sent, tally, moments, before, track)


def _start_s(race: Race) -> float:
    """Providers make their messages before the start."""
    return _START_S + race.each / 20_000


def _lap(
    rate: int,
    sent: int,
    tally: Future[dict[str, float]],
    moments: list[Future[list[float]]],
    before: tuple[float, float],
    track: Track,
) -> Lap:
    seen = tally.result()
    sending = [moment.result() for moment in moments]
    after = _cpu(track)
    return Lap(
        rate=rate,
        sent=sent,
        received=int(seen["received"]),
        doubled=int(seen["doubled"]),
        disordered=int(seen["disordered"]),
        first_sent_s=min(one[0] for one in sending),
        last_sent_s=max(one[1] for one in sending),
        first_received_s=seen["first_s"],
        last_received_s=seen["last_s"],
        gateway_cpu_s=after[0] - before[0],
        broker_cpu_s=after[1] - before[1],
    )


def _cpu(track: Track) -> tuple[float, float]:
    return tuple(sum(one.cpu_times()[:2]) for one in (track.gateway, track.broker))  # type: ignore[return-value]


def _is_provisioned(layout: Platform, site: SiteSpec, pipeline: PipelineSpec) -> bool:
    try:
        provision_as_admin(layout, site, wanted_for_site(site, [pipeline]))
    except UnreachableError:
        return False
    return True


def _prepare_gateway(layout: Platform, site: SiteSpec, port: int) -> tuple[Program, Way]:
    lines = {
        "name": "lines", "kind": "tcp", "listen": f"127.0.0.1:{port}", "acknowledge": True,
        "names": "any",
        "topic": _TOPIC, "key": {"field": "$.sensor_id"},
    }  # fmt: skip
    values = {"site": site.name, "data": "data", "inputs": [lines]}
    program = prepare_gateway(layout, site, values)
    device = issue(layout, site.name, "provider")
    return program, Way("localhost", port, str(layout.ca), str(device))


@contextmanager
def _running(program: Program) -> Iterator[subprocess.Popen[bytes]]:
    program.log.parent.mkdir(parents=True, exist_ok=True)
    with program.log.open("wb") as log:
        process = subprocess.Popen(
            program.command, cwd=program.directory, stdout=log, stderr=subprocess.STDOUT,
            start_new_session=True, umask=0o077,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _START_S
    while not holds():
        if time.monotonic() > deadline:
            raise MillraceError(f"the race does not start: after {_START_S:.0f} s, not yet: {what}")
        time.sleep(0.1)


def race_layout(home: Path, folder: Path) -> Platform:
    """A home whose code is the checkout's, and whose `var` is the race's own."""
    for part in (".jars", ".venv", "infra"):
        (folder / part).symlink_to(home / part)
    return Platform(folder)
