from __future__ import annotations

import random
from itertools import islice

import pytest

from millrace.sites.core.simulation import Simulator, readings, temperature_at

QUIET = Simulator(base=20, target=25, noise=0, spike_chance=0)


@pytest.mark.parametrize(
    ("elapsed_ms", "expected"), [(0, 65.0), (30_000, 36.5546), (10_000_000, 20.0)]
)
def test_a_temperature_settles_as_the_formula_says(elapsed_ms: int, expected: float) -> None:
    assert temperature_at(QUIET, elapsed_ms, random.Random(1)) == pytest.approx(expected, abs=1e-4)


def test_noise_stays_within_its_bound() -> None:
    noisy = QUIET.model_copy(update={"noise": 2.0})
    chance = random.Random(1)
    values = [temperature_at(noisy, 10_000_000, chance) for _ in range(1000)]
    assert 18.0 <= min(values) < 18.1
    assert 21.9 < max(values) <= 22.0


def test_spikes_come_as_often_as_asked() -> None:
    spiky = QUIET.model_copy(update={"spike_chance": 0.1, "spike": 100.0})
    chance = random.Random(1)
    values = [temperature_at(spiky, 10_000_000, chance) for _ in range(10_000)]
    assert 900 < sum(value > 100 for value in values) < 1100


def test_two_runs_with_one_seed_are_the_same() -> None:
    noisy = Simulator(seed=7, sensors=3)
    assert list(islice(readings(noisy, "a"), 100)) == list(islice(readings(noisy, "a"), 100))


def test_another_seed_or_site_is_another_series() -> None:
    one = [r.temperature for r in islice(readings(Simulator(seed=1), "a"), 50)]
    other_seed = [r.temperature for r in islice(readings(Simulator(seed=2), "a"), 50)]
    other_site = [r.temperature for r in islice(readings(Simulator(seed=1), "b"), 50)]
    assert one != other_seed
    assert one != other_site


def test_every_sensor_speaks_once_an_interval() -> None:
    two = Simulator(sensors=2, interval_ms=500)
    assert [(r.sensor_id, r.elapsed_ms) for r in islice(readings(two, "a"), 4)] == [
        ("a-t1", 0),
        ("a-t2", 0),
        ("a-t1", 500),
        ("a-t2", 500),
    ]
