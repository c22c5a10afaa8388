"""A sensor over its threshold: when that begins, when it ends, and what is told of it."""

from __future__ import annotations

import math

import pytest

from millrace.gateway.rules.core.thresholds import (
    Detector,
    Threshold,
    ThresholdChange,
    ThresholdEvent,
    Unit,
    convert,
)

LIMIT = Threshold(above=80, hysteresis=5)


def events(
    values: list[float], detector: Detector | None = None
) -> list[tuple[int, ThresholdChange]]:
    """By the number of the sample; a second lies between two."""
    return [(e.at_ms // 1000, e.change) for e in told(values, detector or Detector(LIMIT))]


def told(values: list[float], detector: Detector) -> list[ThresholdEvent]:
    found = [detector.on_sample("s", value, Unit.C, n * 1000) for n, value in enumerate(values)]
    return [event for event in found if event]


BEGAN, ENDED = ThresholdChange.BEGAN, ThresholdChange.ENDED


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([79, 80, 80], []),
        ([79, 81], [(1, BEGAN)]),
        ([81, 82, 79, 76, 81], [(0, BEGAN)]),
        ([81, 75], [(0, BEGAN)]),
        ([81, 74.9], [(0, BEGAN), (1, ENDED)]),
        ([81, 70, 81, 70], [(0, BEGAN), (1, ENDED), (2, BEGAN), (3, ENDED)]),
        ([81, math.nan, 90, math.inf, 70], [(0, BEGAN), (4, ENDED)]),
    ],
    ids=repr,
)
def test_exceeding_begins_above_and_ends_below_the_hysteresis(values, wanted):
    assert events(values) == wanted


def test_an_end_tells_of_all_samples_since_the_beginning_but_of_the_one_that_ends_it():
    _, ended = told([81, 95, 79, 82, 60], Detector(LIMIT))
    assert (ended.first_ms, ended.latest_ms, ended.lasted_ms) == (0, 3_000, 4_000)
    assert ended.average == pytest.approx((81 + 95 + 79 + 82) / 4)
    assert ended.maximum == 95


def test_sensors_know_nothing_of_each_other():
    detector = Detector(LIMIT)
    assert detector.on_sample("a", 81, Unit.C, 0)
    assert detector.on_sample("b", 81, Unit.C, 0)
    assert detector.on_sample("a", 82, Unit.C, 1) is None


def test_state_goes_on_where_it_was_written_down():
    first = Detector(LIMIT)
    told([81, 95], first)
    again = Detector(LIMIT, first.snapshot())
    (ended,) = told([60], again)
    assert (ended.change, ended.maximum) == (ENDED, 95)


@pytest.mark.parametrize(
    ("value", "source", "target", "wanted"),
    [
        (100, "C", "F", 212),
        (212, "F", "C", 100),
        (0, "K", "C", -273.15),
        (32, "F", "K", 273.15),
        (5, "C", "C", 5),
    ],
)
def test_units_are_converted(value, source, target, wanted):
    assert convert(value, Unit(source), Unit(target)) == pytest.approx(wanted)


def test_a_threshold_has_its_unit_and_samples_have_theirs():
    detector = Detector(Threshold(above=100, unit=Unit.C))
    assert detector.on_sample("s", 211, Unit.F, 0) is None
    event = detector.on_sample("s", 213.8, Unit.F, 1)
    assert event is not None
    assert event.maximum == pytest.approx(101)
