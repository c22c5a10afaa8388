"""The race at a small size: its parts, and that it counts what it says."""

from __future__ import annotations

from pathlib import Path

from millrace.latency_benchmark.core import Race
from millrace.latency_benchmark.io.benchmark_run import race_layout, run_race
from tests.integration.conftest import CHECKOUT
from tests.support import free_ports


def test_a_race_ends_with_all_received_once_and_in_order(tmp_path: Path) -> None:
    layout = race_layout(CHECKOUT, tmp_path)
    plan = Race(messages=10_000, rates=(10_000,), runs=1)
    (lap,) = run_race(plan, layout, free_ports(4), lambda _: None)
    assert (lap.sent, lap.received, lap.lost) == (10_000, 10_000, 0)
    assert (lap.doubled, lap.disordered) == (0, 0)
    assert lap.took_s > 0
    assert lap.gateway_cpu_s > 0
