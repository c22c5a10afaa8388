"""Where to look, on a new link, for messages that an earlier one has left at the broker.

Offsets mean something in one topic alone. A topic that was deleted and made anew counts from 0
again under the old name, and a broker that was restored to an older state gives offsets again to
other messages: what was kept of either is void.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

# Who has nothing that it may have sent looks at so many messages of each partition, all the same:
# another life of it, which it knows nothing of, may have sent some.
GLANCE = 1_000


class TopicHistory(Enum):
    """What became of a topic since its offsets were kept."""

    SAME = "it is as it was"
    ANEW = "it was deleted and made anew"
    BACK = "it ends before messages that it had: its broker came back in an older state"


@dataclass(frozen=True)
class TopicView:
    """A topic as the broker shows it."""

    # Another for each topic that is made, whatever its name; empty: this broker has none.
    id: str = ""
    # By partition: its first offset, and the one that its next message will have.
    begins: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    # Why nothing can be sent to it; empty: nothing is known against it.
    refusal: str = ""


@dataclass(frozen=True)
class Known:
    """What was kept of a topic."""

    id: str
    offsets: Mapping[int, int]


@dataclass(frozen=True)
class LookBack:
    history: TopicHistory
    # Behind these offsets, by partition, lies all that was sent of what is not done.
    safe: Mapping[int, int]
    # What is to be read, by partition: from these offsets to those.
    begins: Mapping[int, int]
    ends: Mapping[int, int]


def plan_look_back(
    known: Known | None,
    topic_view: TopicView,
    *,
    may_have_sent: bool,
    another_may_have: bool = False,
) -> LookBack:
    """`may_have_sent`: messages that are not done may have been sent before. `another_may_have`: by
    a spool of which this one is a copy, so that nothing that is kept here tells where."""
    history = _history(known, topic_view)
    if known is None:
        if another_may_have:
            return LookBack(history, topic_view.begins, topic_view.begins, topic_view.ends)
        return LookBack(history, topic_view.ends, {}, {})
    kept = known.offsets if history is TopicHistory.SAME else {}
    begins = {
        number: max(kept.get(number, 0), first) for number, first in topic_view.begins.items()
    }
    if may_have_sent:
        return LookBack(history, begins, begins, topic_view.ends)
    ends = {number: min(end, begins[number] + GLANCE) for number, end in topic_view.ends.items()}
    return LookBack(history, begins, begins, ends)


def _history(known: Known | None, topic_view: TopicView) -> TopicHistory:
    if known is None:
        return TopicHistory.SAME
    if known.id and topic_view.id and known.id != topic_view.id:
        return TopicHistory.ANEW
    is_shorter = any(at > topic_view.ends.get(number, 0) for number, at in known.offsets.items())
    return TopicHistory.BACK if is_shorter else TopicHistory.SAME
