"""What a device sends again on a new connection: what is not known to be safe, and nothing else."""

from __future__ import annotations

from millrace.gateway.client.core.unanswered import Backlog


def backlog(*messages: bytes) -> Backlog:
    made = Backlog()
    for one in messages:
        made.put(one)
    return made


def answered(device: Backlog, count: int) -> Backlog:
    for _ in range(count):
        device.on_safe()
    return device


def test_what_was_not_answered_is_sent_again_in_order_before_the_rest():
    device = backlog(b"1", b"2", b"3", b"4")
    device.begin_behind(0)
    assert device.burst(3) == [b"1", b"2", b"3"]
    answered(device, 1)
    device.begin_behind(1)
    assert device.burst(9) == [b"2", b"3", b"4"]
    assert (device.delivered, device.outstanding) == (1, 3)


def test_what_is_safe_though_its_answer_was_lost_is_not_sent_again():
    device = backlog(b"1", b"2", b"3")
    device.begin_behind(40)
    device.burst(9)
    device.begin_behind(42)
    assert device.burst(9) == [b"3"]


def test_a_gateway_that_has_forgotten_what_was_safe_gets_nothing_twice():
    """An older state of its folder came back: its count is behind the device's."""
    device = backlog(b"1", b"2", b"3")
    device.begin_behind(0)
    device.burst(9)
    answered(device, 3)
    device.put(b"4")
    device.begin_behind(1)
    assert device.burst(9) == [b"4"]
    device.begin_behind(2)
    assert device.burst(9) == []


def test_a_message_that_is_refused_is_not_sent_again_and_counts_for_nothing():
    device = backlog(b"too long", b"2")
    device.begin_behind(0)
    device.burst(99)
    device.on_refused()
    device.begin_behind(0)
    assert device.burst(99) == [b"2"]
    assert (device.delivered, device.refused) == (0, 1)
