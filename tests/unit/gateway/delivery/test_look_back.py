"""Where a new link looks for what an earlier one has left, by what became of the topic."""

from __future__ import annotations

import pytest

from millrace.gateway.delivery.core.look_back import (
    GLANCE,
    Known,
    TopicHistory,
    TopicView,
    plan_look_back,
)

SIGHT = TopicView("id-1", begins={0: 10, 1: 0}, ends={0: 500, 1: 20})


@pytest.mark.parametrize(
    ("known", "topic_view", "history", "begins"),
    [
        (Known("id-1", {0: 480, 1: 20}), SIGHT, TopicHistory.SAME, {0: 480, 1: 20}),
        (Known("id-1", {0: 480}), SIGHT, TopicHistory.SAME, {0: 480, 1: 0}),
        (Known("id-1", {0: 3, 1: 20}), SIGHT, TopicHistory.SAME, {0: 10, 1: 20}),
        (Known("id-0", {0: 480, 1: 20}), SIGHT, TopicHistory.ANEW, {0: 10, 1: 0}),
        (Known("id-0", {0: 480, 1: 20, 2: 7}), SIGHT, TopicHistory.ANEW, {0: 10, 1: 0}),
        (Known("id-1", {0: 480, 1: 21}), SIGHT, TopicHistory.BACK, {0: 10, 1: 0}),
        (Known("id-1", {0: 480, 1: 20, 2: 7}), SIGHT, TopicHistory.BACK, {0: 10, 1: 0}),
        (Known("", {0: 480, 1: 20}), SIGHT, TopicHistory.SAME, {0: 480, 1: 20}),
    ],
    ids=[
        "as it was",
        "a partition more",
        "records deleted by age",
        "made anew",
        "made anew with fewer partitions",
        "shorter",
        "partitions gone",
        "of a broker without ids",
    ],
)
def test_what_may_have_been_sent_is_looked_for(known, topic_view, history, begins):
    plan = plan_look_back(known, topic_view, may_have_sent=True)
    assert (plan.history, plan.safe) == (history, begins)
    assert (plan.begins, plan.ends) == (begins, topic_view.ends)


def test_a_topic_that_nothing_was_sent_to_begins_at_its_ends():
    plan = plan_look_back(None, SIGHT, may_have_sent=True)
    assert (plan.history, plan.safe, plan.ends) == (TopicHistory.SAME, SIGHT.ends, {})


def test_who_has_sent_nothing_that_is_not_done_takes_a_glance():
    """Where it ends, the window's next positions do."""
    topic_view = TopicView("id-1", begins={0: 10, 1: 0}, ends={0: 5_000_000, 1: 20})
    plan = plan_look_back(Known("id-1", {0: 20, 1: 20}), topic_view, may_have_sent=False)
    assert plan.safe == plan.begins == {0: 20, 1: 20}
    assert plan.ends == {0: 20 + GLANCE, 1: 20}
    anew = plan_look_back(Known("id-0", {0: 20, 1: 0}), topic_view, may_have_sent=False)
    assert (anew.history, anew.safe) == (TopicHistory.ANEW, topic_view.begins)
    assert anew.ends == {0: 10 + GLANCE, 1: 20}
