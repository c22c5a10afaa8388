"""A courier of a spool on disk, without a broker: what it hands over, and what it keeps."""

from __future__ import annotations

from pathlib import Path

from millrace.gateway.delivery.core.look_back import TopicHistory, TopicView
from millrace.gateway.delivery.io.courier import Courier, courier_of
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.message_identity import content_of
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io.disk import NoRoomError
from millrace.gateway.spool.io.spool_files import Spool

BOUNDS = SpoolBounds(segment_bytes=4_096, total_bytes=16_384)


def new_courier(folder: Path) -> Courier:
    return courier_of("plant-t", "lines", Spool(folder / "spool", BOUNDS), folder)


def keep(courier: Courier, count: int) -> None:
    """Where there is no room, the oldest go."""
    for _ in range(count):
        while True:
            try:
                courier.spool.keep([Draft(b"t", None, b"x" * 500)])
                break
            except NoRoomError:
                assert courier.spool.drop_oldest()


def deliver(courier: Courier) -> list[int]:
    """All that it hands over, each answered at once."""
    delivered: list[int] = []
    while record := courier.next():
        courier.hand_over(record)
        courier.window.finish(record.serial)
        delivered.append(record.serial)
    courier.save()
    return delivered


def test_a_courier_recovers_from_messages_that_were_dropped_before_they_were_sent(tmp_path):
    courier = new_courier(tmp_path)
    keep(courier, 5)
    first = courier.next()
    assert first
    courier.hand_over(first)
    courier.rewind()
    keep(courier, 100)
    assert courier.spool.dropped > 50
    assert courier.waiting == 105 - courier.spool.dropped
    left = deliver(courier)
    assert left == list(range(courier.spool.dropped, 105))
    assert (courier.window.base, courier.window.remembered, courier.waiting) == (105, 0, 0)
    dropped = courier.spool.dropped
    keep(courier, 100)
    deliver(courier)
    assert courier.spool.size < 3 * BOUNDS.segment_bytes, "what is delivered goes from the disk"
    keep(courier, 10)
    assert deliver(courier) == list(range(205, 215))
    assert courier.spool.dropped >= dropped


def test_what_was_dropped_last_of_all_is_not_waited_for(tmp_path):
    courier = new_courier(tmp_path)
    keep(courier, 30)
    newest = courier.spool.path(courier.spool.durable[0])
    assert deliver(courier)[-1] == 29
    keep(courier, 2)
    assert courier.spool.path(courier.spool.durable[0]) == newest
    with newest.open("r+b") as file:
        file.seek(courier.spool.durable[1] - 600)
        file.write(b"damage")
    assert len(deliver(courier)) <= 1
    assert (courier.window.base, courier.waiting) == (32, 0)
    assert courier.reader.damaged_bytes > 0


def test_what_was_found_in_a_topic_means_nothing_in_the_one_made_anew(tmp_path):
    courier = new_courier(tmp_path)
    keep(courier, 1)
    courier.begin("t", TopicView("old", {0: 0}, {0: 0}))
    record = courier.next()
    assert record
    courier.hand_over(record)
    courier.rewind()
    courier.begin("t", TopicView("old", {0: 0}, {0: 1}))
    found = (courier.headers(record), content_of(record.draft.key, record.draft.value))
    courier.find("t", [found])
    courier.rewind()
    assert courier.next() == record, "this link has not looked at the topic"
    plan = courier.begin("t", TopicView("new", {0: 0}, {0: 0}))
    assert plan.history is TopicHistory.ANEW
    assert deliver(courier) == [0]
