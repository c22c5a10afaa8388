"""How much a spool takes on disk and how long messages wait in it, whatever clocks say."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.gateway.delivery.io.courier import courier_of
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.ledger import Heading, MessageLedger
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.core.segments import encode_heading_of
from millrace.gateway.spool.io import witness
from millrace.gateway.spool.io.clock import Clock, ClockWatch
from millrace.gateway.spool.io.disk import NoRoomError
from millrace.gateway.spool.io.spool_files import Spool

DAY_S = 86_400
SEGMENT = 1 << 16


class SetClock(Clock):
    """A machine's clocks, in a test's hands."""

    def __init__(self, wall_s: int = 1_800_000_000) -> None:
        self.wall_s, self.boot_s = wall_s, 1_000

    def wall_ms(self) -> int:
        return self.wall_s * 1000

    def since_boot_s(self) -> int:
        return self.boot_s

    def pass_s(self, span_s: int) -> None:
        self.wall_s += span_s
        self.boot_s += span_s


def bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.spool"))


def requests(first: int, count: int) -> list[Draft]:
    """Each with an Idempotency-Key of its own, as long as may be."""
    return [
        Draft(b"t", None, b"{}", b"key/" + b"%0200d" % number, 1)
        for number in range(first, first + count)
    ]


def takes(spool: Spool, drafts: list[Draft]) -> bool:
    try:
        spool.keep(drafts)
    except NoRoomError:
        return False
    return True


def test_a_spool_takes_what_it_may_and_no_more_with_50_000_origins_too(tmp_path):
    bounds = SpoolBounds(segment_bytes=256 << 10, total_bytes=8 << 20)
    spool, count = Spool(tmp_path, bounds), 0
    while takes(spool, requests(count, 200)):
        count += 200
        assert bytes_in(tmp_path) == spool.size <= bounds.total_bytes
    assert count > 10_000
    assert bytes_in(tmp_path) > bounds.total_bytes - 2 * bounds.segment_bytes
    assert spool.last_of(requests(count - 1, 1)[0].origin) == 1, "the latest are known"
    spool.close()


def test_a_heading_is_bounded_and_keeps_who_sent_latest():
    ledger = MessageLedger(Heading(epoch=1))
    ledger.enter(requests(0, 50_003))
    ledger.settle()
    assert (len(ledger.heading().origins), ledger.forgotten) == (50_000, 3)
    heading = encode_heading_of(ledger, 1 << 20)
    assert len(heading) <= 1 << 20
    assert ledger.origin_count > 3_000
    assert ledger.forgotten == 50_003 - ledger.origin_count
    assert ledger.last_of(requests(50_002, 1)[0].origin) == 1


def largest() -> Draft:
    """As long as a message of this segment's half may be, and its own key, and an origin."""
    return Draft(b"t", b"k" * (SEGMENT // 2), b"v" * (SEGMENT // 2), b"o" * 204, 1)


@pytest.mark.parametrize("origins", [0, 200])
def test_the_smallest_spool_goes_on_when_what_it_holds_is_delivered(tmp_path, origins):
    bounds = SpoolBounds(segment_bytes=SEGMENT, total_bytes=2 * SEGMENT)
    spool = Spool(tmp_path, bounds)
    for number in range(origins):
        spool.keep(requests(number, 1))
        spool.trim(spool.next_index)
    for number in range(5):
        spool.keep([largest()._replace(origin_number=number + 1)])
        while takes(spool, [Draft(b"t", None, b"x" * 9_000)]):
            pass
        assert bytes_in(tmp_path) == spool.size <= bounds.total_bytes
        spool.trim(spool.next_index)
    spool.close()


# Clocks.

AGE = SpoolBounds(segment_bytes=SEGMENT, total_bytes=1 << 22, age_s=3_600)


class Site:
    """A spool whose messages nobody takes, and a courier that has seen the first of them."""

    def __init__(self, folder: Path, clock: SetClock) -> None:
        self.folder, self.clock = folder, clock
        self.start()

    def start(self) -> None:
        self.spool = Spool(self.folder / "spool", AGE, self.clock)
        self.courier = courier_of("plant-a", "lines", self.spool, self.folder)
        self.look()

    def keep(self) -> None:
        self.spool.keep([Draft(b"t", None, b"x" * 20_000)])
        self.look()

    def look(self) -> None:
        self.courier.next()
        self.courier.save()

    def stop(self) -> None:
        self.courier.close()
        self.spool.close()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def site(tmp_path: Path, clock: SetClock) -> Iterator[Site]:
    made = Site(tmp_path / "lines", clock)
    yield made
    made.stop()


def test_messages_grow_old_by_the_time_that_passes(site, clock):
    site.keep()
    clock.pass_s(3_500)
    site.keep()
    assert site.spool.oldest_age_s == 3_500
    clock.pass_s(200)
    with pytest.raises(NoRoomError, match=r"spool\.age"):
        site.keep()


@pytest.mark.parametrize("shift_s", [30 * DAY_S, 56 * 365 * DAY_S, -30 * DAY_S], ids=str)
@pytest.mark.parametrize("when", ["while it runs", "before a start"])
def test_a_clock_that_is_set_makes_no_message_older(site, clock, shift_s, when):
    site.keep()
    clock.pass_s(10)
    if when == "before a start":
        site.stop()
    clock.wall_s += shift_s
    if when == "before a start":
        site.start()
        assert site.spool.life.clock_was_set_s == shift_s
    site.keep()
    assert site.spool.oldest_age_s == 10
    assert site.spool.dropped == 0


def test_the_time_between_two_starts_counts_and_what_a_machine_is_off_does_not(
    site, clock, monkeypatch
):
    site.keep()
    site.stop()
    clock.pass_s(100)
    site.start()
    assert site.spool.oldest_age_s == 100
    site.stop()
    monkeypatch.setattr(witness, "boot_id", lambda: b"another")
    clock.wall_s += DAY_S
    clock.boot_s = 30
    site.start()
    assert site.spool.oldest_age_s == 0
    assert site.spool.life.clock_was_set_s == 0


def test_a_clock_that_stands_before_the_last_message_was_set(site, clock, monkeypatch):
    """As of a machine without a battery, before it has asked for the time."""
    site.keep()
    site.stop()
    monkeypatch.setattr(witness, "boot_id", lambda: b"another")
    clock.wall_s, clock.boot_s = 0, 30
    site.start()
    assert site.spool.life.clock_was_set_s == -1_800_000_000


def test_only_what_is_too_old_is_dropped(site, clock):
    #  3 in each segment:  [old old old] [old new new] [new new new] [new
    for _ in range(4):
        site.keep()
    clock.pass_s(2_000)
    for _ in range(6):
        site.keep()
    clock.pass_s(2_000)
    with pytest.raises(NoRoomError):
        site.keep()
    while not takes(site.spool, [Draft(b"t", None, b"y")]):
        assert site.spool.drop_oldest()
    assert site.spool.dropped == 6, "segments go as a whole, and those without an old one stay"


def test_a_clock_that_was_set_is_told_of_once(clock, caplog):
    watch = ClockWatch(clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            clock.pass_s(1)
            watch.look()
        assert watch.count == 0
        clock.wall_s += 30 * DAY_S
        for _ in range(3):
            clock.pass_s(1)
            watch.look()
    assert watch.count == 1
    assert caplog.text.count("was set 30 days, 0:00:00 ahead") == 1


def test_a_clock_that_is_led_to_the_right_time_is_not_set(clock):
    watch = ClockWatch(clock)
    for _ in range(600):
        clock.pass_s(1)
        clock.wall_s += 1
        watch.look()
    assert watch.count == 0
