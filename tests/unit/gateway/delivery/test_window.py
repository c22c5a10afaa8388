"""What is delivered, and what a next start would have to look for at the broker."""

from __future__ import annotations

import random

from millrace.gateway.delivery.core.window import DeliveryProgress, Window

A, B = ("t", 0), ("t", 1)


def handed_over(count: int, progress: DeliveryProgress | None = None) -> Window:
    window = new_window(progress)
    for index in range(window.base, window.base + count):
        window.hand_over(index)
    return window


def new_window(progress: DeliveryProgress | None = None) -> Window:
    """Of a sender to topic t, which has ends of its own."""
    window = Window(progress or DeliveryProgress(ids={"t": ""}))
    window.share(ENDS)
    window.end_look("t")
    ENDS.clear()
    return window


ENDS: dict[tuple[str, int], int] = {}


def acknowledge(window: Window, index: int, part: tuple[str, int], offset: int) -> None:
    ENDS[part] = offset + 1
    window.finish(index)


def test_the_base_is_the_first_that_is_not_done():
    window = handed_over(4)
    acknowledge(window, 1, A, 0)
    acknowledge(window, 3, B, 0)
    assert (window.base, window.outstanding) == (0, 2)
    acknowledge(window, 0, A, 1)
    assert (window.base, window.outstanding) == (2, 1)
    assert [window.is_done(index) for index in range(4)] == [True, True, False, True]


def test_what_was_lost_with_its_bytes_is_not_waited_for():
    window = handed_over(2)
    window.hand_over(5)
    for index in (0, 1, 5):
        window.finish(index)
    assert window.base == 6


def test_offsets_wait_for_all_that_was_handed_over_before_them():
    window = handed_over(3)
    window.progress()  # nothing was sent: the mark is behind the third message
    acknowledge(window, 1, A, 10)
    acknowledge(window, 2, B, 20)
    assert window.progress().offsets == {}
    window.hand_over(3)
    acknowledge(window, 0, B, 21)
    assert window.progress().offsets == {}
    window.hand_over(4)
    acknowledge(window, 3, A, 11)
    assert window.progress().offsets == {"t": {0: 11, 1: 22}}


def test_offsets_follow_at_once_where_nothing_was_sent_that_is_not_done():
    window = handed_over(1)
    acknowledge(window, 0, A, 10)
    assert window.progress().offsets == {"t": {0: 11}}
    ENDS[A] = 5_000_000
    assert window.progress().offsets == {"t": {0: 5_000_000}}, "by what others have sent"


def test_offsets_stand_while_what_an_earlier_process_may_have_sent_is_not_done():
    kept = DeliveryProgress(base=5, reach=7, offsets={"t": {0: 3}}, ids={"t": ""})
    window = handed_over(1, kept)
    acknowledge(window, 5, A, 9)
    assert window.progress() == DeliveryProgress(
        base=6, reach=7, offsets={"t": {0: 3}}, ids={"t": ""}
    )


def test_a_next_start_finds_all_that_was_delivered_and_not_written_down():
    """Whenever it is cut: of what is not before `base`, everything that the broker has lies behind
    the offsets that were written down."""
    chance = random.Random(1)
    for _ in range(300):
        logs: dict[tuple[str, int], list[int]] = {A: [], B: []}
        window, told = new_window(), DeliveryProgress()
        waiting: list[tuple[int, tuple[str, int], int]] = []
        for _ in range(60):
            act = chance.random()
            if act < 0.5:
                index, part = window.next, chance.choice([A, B])
                window.hand_over(index)
                logs[part].append(index)
                waiting.append((index, part, len(logs[part]) - 1))
            elif act < 0.9 and waiting:
                part = chance.choice([A, B])
                mine = next((one for one in waiting if one[1] == part), None)
                if mine:
                    waiting.remove(mine)
                    acknowledge(window, *mine)
            else:
                told = window.progress()
        for (topic, number), log in logs.items():
            begin = told.offsets.get(topic, {}).get(number, 0)
            unseen = [index for index in log[:begin] if index >= told.base]
            assert not unseen


def test_what_was_dropped_at_the_base_moves_the_base_at_once():
    window = new_window(DeliveryProgress(base=100))
    window.hand_over(200)
    assert (window.base, window.outstanding) == (200, 1)
    acknowledge(window, 200, A, 5)
    assert window.base == 201


def test_however_many_messages_are_dropped_a_window_remembers_two_numbers_of_them():
    window = handed_over(1)
    window.rewind()
    window.hand_over(0)
    window.hand_over(144_000_000)
    assert (window.outstanding, window.remembered) == (2, 2)
    window.finish(144_000_000)
    window.finish(0)
    assert (window.base, window.remembered) == (144_000_001, 0)


def test_what_was_lost_at_the_end_of_a_spool_is_passed_over():
    window = handed_over(2)
    window.pass_over(10)
    window.finish(1)
    assert (window.base, window.outstanding) == (0, 1)
    window.finish(0)
    assert (window.base, window.next) == (10, 10)


def test_positions_follow_only_in_topics_that_this_link_has_looked_through():
    window = Window(DeliveryProgress(offsets={"t": {0: 3}, "u": {0: 4}}, ids={"t": "", "u": ""}))
    window.share({("t", 0): 7, ("u", 0): 9})
    window.end_look("t")
    assert window.progress().offsets == {"t": {0: 7}, "u": {0: 4}}
    window.rewind()
    window.share({("t", 0): 8, ("u", 0): 9})
    assert window.progress().offsets == {"t": {0: 7}, "u": {0: 4}}
