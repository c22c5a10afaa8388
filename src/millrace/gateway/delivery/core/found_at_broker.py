"""Messages that wait in a spool, beside those that a look back has met at the broker."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.gateway.delivery.core.found_names import FoundNames
from millrace.gateway.spool.core.message_identity import Found, Identity, content_of
from millrace.gateway.spool.core.records import Record


class FoundAtBroker:
    """Compares messages in the spool's order, from each new link on again, until every message that
    was in the spool at the last look back has had its turn."""

    def __init__(self, horizon: int) -> None:
        """`horizon`: the index of the first message that was not there when the broker was looked
        at."""
        self._names = FoundNames()
        self._horizon = horizon
        # Epoch and number of each topic's last message that was compared.
        self._passed: dict[bytes, tuple[int, int]] = {}
        # Topics that were looked at since the link began.
        self._looked_at: set[bytes] = set()
        # False: nothing was met, or all is compared. An attribute, as it is asked for each message.
        self.is_open = False

    @property
    def names_forgotten(self) -> int:
        """How many names that a look back has met there was no room for."""
        return self._names.forgotten

    # What a look back meets.

    def begin_link(self) -> None:
        """Topics may have been made anew; what was met in them still tells whose a name is."""
        self._looked_at.clear()

    def begin_look(self, topic: bytes) -> None:
        """What was met in it before is forgotten."""
        self._names.forget(topic)
        self._looked_at.add(topic)
        self.is_open = bool(self._names)

    def meet(self, topic: bytes, identity: Identity, messages: Iterable[Found]) -> int:
        """How many of them have the identity of the spool's own."""
        count = 0
        for headers, content in messages:
            name = identity.found_in(headers)
            if name:
                count += 1
                self._names.add(topic, *name, content)
                self.is_open = True
        return count

    def end_look(self, horizon: int) -> None:
        self._horizon = horizon

    def highest(self, topic: bytes, epoch: int) -> int:
        """0: none was met."""
        return self._names.highest(topic, epoch)

    # What waits.

    def is_anothers(self, record: Record) -> bool:
        """Whether the broker has another message under the name of this one."""
        there = self._content_there(record)
        return there is not None and there != content_of(record.draft.key, record.draft.value)

    def is_there(self, record: Record) -> bool:
        """Whether the broker has a message under the name of this one."""
        return self._content_there(record) is not None

    def was_looked_for(self, record: Record) -> bool:
        """Whether its topic was looked at since the link began."""
        return record.draft.topic in self._looked_at

    def note(self, record: Record) -> None:
        """It is compared."""
        self._passed[record.draft.topic] = record.epoch, record.number

    def end_before(self, record: Record) -> None:
        """All are compared, where this is a message that was not there at the last look."""
        if record.serial >= self._horizon:
            self._names.clear()
            self._passed.clear()
            self.is_open = False

    def with_more(self, next_index: int) -> set[bytes]:
        """Topics in which the broker has later messages than those that were compared so far.

        Another life of this spool may have sent messages that wait here too. A machine that came
        back with its memory has no other sign of such a life.
        """
        return self._names.beyond(self._passed) if next_index < self._horizon else set()

    def has_begun_with(self, topics: set[bytes]) -> bool:
        """Whether a message of one of these topics was compared."""
        return not topics.isdisjoint(self._passed)

    def _content_there(self, record: Record) -> int | None:
        """Of the message that the broker has under the name of this one; None: it has none."""
        return self._names.content(record.draft.topic, record.epoch, record.number)
