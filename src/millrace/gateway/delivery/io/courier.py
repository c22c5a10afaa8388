"""One spool's messages on their way: which is next, which are done, which were there before."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from millrace.gateway.delivery.core.found_at_broker import FoundAtBroker
from millrace.gateway.delivery.core.look_back import (
    LookBack,
    TopicHistory,
    TopicView,
    plan_look_back,
)
from millrace.gateway.delivery.core.window import Window
from millrace.gateway.delivery.io.courier_parts import Letters, MessageSource, Pages, ProgressStore
from millrace.gateway.delivery.io.dead_letters import MOST_BYTES, DeadLetters
from millrace.gateway.delivery.io.progress_file import ProgressFile
from millrace.gateway.spool.core.message_identity import Found, Headers, Identity
from millrace.gateway.spool.core.records import Record
from millrace.gateway.spool.io.spool_files import Spool, bytes_of
from millrace.gateway.spool.io.spool_reader import Reader

log = logging.getLogger(__name__)
# So many messages may be handed over after it was written down that they may be.
ALLOWED_AHEAD = 100_000
# Positions of an input that sends nothing are written down with every so many saves.
_FOLLOW_EVERY = 25
_LETTERS_BYTES = 1 << 20


def courier_of(
    site: str, name: str, spool: Spool, folder: Path, letters: DeadLetters | None = None
) -> Courier:
    store = ProgressFile(folder / "progress")
    base = store.read().within(spool.next_index).base
    letters = letters or DeadLetters(folder, MOST_BYTES, base)
    return Courier(site, name, spool, Reader(spool, base), store, letters)


class Courier:
    """Used by the delivering thread alone."""

    def __init__(
        self,
        site: str,
        name: str,
        spool: MessageSource,
        reader: Pages,
        store: ProgressStore,
        letters: Letters,
    ) -> None:
        self.name = name
        self.spool = spool
        self.reader = reader
        self.dead_letters = letters
        self._store = store
        last = store.read()
        kept = last.within(spool.next_index)
        is_copy = spool.may_be_a_copy or spool.has_newer_progress(store.turn)
        if is_copy:
            kept = kept.as_of_a_copy(spool.next_index, spool.renamed_in)
        if is_copy or kept.base < last.base:
            # A process that ends before its first link leaves no other sign of it: the next one
            # would take what this one keeps for done.
            store.write(kept)
            spool.note_progress(store.turn)
        self._allowed = kept.reach
        self.window = Window(kept)
        self._quiet_saves = 0
        self._site = site
        self._identities: dict[bytes, Identity] = {}
        self._waiting: deque[Record] = deque()
        # When the eldest of each stretch that was read came, by the stretch's first index and the
        # spool's clock.
        self._times: deque[tuple[int, int]] = deque()
        self._found = FoundAtBroker(self.window.base)
        self._looks_at_all = False
        # The message whose new name could not be written down, and why.
        self._nameless: Record | None = None
        self._unwritable = ""
        # Those that no broker takes, and why, until they are written as dead letters.
        self._letters: list[tuple[Record, str]] = []
        self._letters_bytes = 0
        # Before this index each message goes alone: one of them is refused, and which is not known.
        self.careful_until = 0
        # The last that went alone.
        self.alone = -1
        # Those that were refused alone, and why.
        self.condemned: dict[int, str] = {}
        self.delivered = 0

    @property
    def waiting(self) -> int:
        """How many messages of those that the spool still holds are not done."""
        return max(0, self.spool.next_index - max(self.window.base, self.spool.first_index))

    @property
    def unanswered(self) -> int:
        """How many messages are at the broker, or on their way to it."""
        return self.window.outstanding - len(self._letters)

    @property
    def held_up(self) -> str:
        """Why its messages wait, whatever the broker takes; empty: they do not."""
        return (self.dead_letters.obstacle if self._letters else "") or self._unwritable

    @property
    def names_forgotten(self) -> int:
        """How many names that a look back has met there was no room for."""
        return self._found.names_forgotten

    def identity(self, topic: bytes) -> Identity:
        if topic not in self._identities:
            self._identities[topic] = Identity(self._site, self.name, topic.decode())
        return self._identities[topic]

    def headers(self, record: Record) -> Headers:
        return self.identity(record.draft.topic).headers(record.epoch, record.number)

    def next(self) -> Record | None:
        """The next message that is not done; it stays the next until it is handed over."""
        while True:
            while self._waiting:
                record = self._waiting[0]
                if self._found.is_open:
                    if self._found.is_anothers(record):
                        if not self._begin_life(record):
                            return None
                        continue
                    self._compare(record)
                if self.window.wants(record.serial):
                    if record.serial >= self._allowed:
                        self._allow(record.serial)
                    return record
                self._waiting.popleft()
            records = self.reader.read()
            if not records:
                self.window.pass_over(self.reader.position)
                return None
            self._times.append((records[0].serial, records[0].clock_s))
            self._waiting.extend(records)

    def hand_over(self, record: Record) -> None:
        self._waiting.popleft()
        self.window.hand_over(record.serial)

    def _compare(self, record: Record) -> None:
        """A message that a look back has met at the broker is not sent again. Nothing is known of a
        message whose topic was not looked at yet."""
        window, found = self.window, self._found
        if not found.was_looked_for(record):
            return
        found.note(record)
        if not window.wants(record.serial):
            return
        if found.is_there(record):
            window.hand_over(record.serial)
            window.finish(record.serial)
            self.delivered += 1
        else:
            found.end_before(record)

    def _with_more(self) -> set[bytes]:
        return self._found.with_more(self.window.next)

    def _another_has_sent(self, with_more: set[bytes]) -> bool:
        """Whether a topic has later messages than this life can have sent."""
        return not self.window.may_have_sent and self._found.has_begun_with(with_more)

    # Names that were given to other messages.

    def _rename_from_the_first_of_another(self) -> None:
        """At once, and not when the message's turn comes: the topic may be deleted before, and with
        it the only sign of the other life."""
        if not self._found.is_open:
            return
        position = self.reader.position
        waiting = chain(self._waiting, chain.from_iterable(iter(self.reader.read, [])))
        record = next(filter(self._found.is_anothers, waiting), None)
        self.reader.seek(position)
        if record:
            self._begin_life(record)

    def _begin_life(self, record: Record) -> bool:
        """False: its new name cannot be written down, and it waits."""
        try:
            self.spool.begin_life(record)
        except OSError as error:
            self._wait_with(record, f"new names cannot be written down: {error.strerror}")
            return False
        self._nameless, self._unwritable = None, ""
        log.error(
            "%s: the broker has another message under the name of message %s: another life of this"
            " spool has sent it, as after a restored backup or a cloned disk; this one goes on"
            " under other names",
            *(self.name, record.serial),
        )
        if self._waiting:
            # They are read again, with their new names.
            self.reader.seek(self._waiting[0].serial)
            self._waiting.clear()
        return True

    def _wait_with(self, record: Record, obstacle: str) -> None:
        if obstacle != self._unwritable:
            log.error("%s: %s; its messages wait", self.name, obstacle)
        self._nameless, self._unwritable = record, obstacle

    def _allow(self, serial: int) -> None:
        """A next start knows that nothing from here on was sent."""
        self._allowed = serial + ALLOWED_AHEAD
        self.save()

    # What no broker takes.

    def bury(self, record: Record, reason: str) -> bool:
        """No broker takes it: it is done when it is written down. False: those behind it wait."""
        self.hand_over(record)
        self._letters.append((record, reason))
        self._letters_bytes += bytes_of(record.draft)
        if self._letters_bytes >= _LETTERS_BYTES:
            self.settle()
        return not self.held_up

    def settle(self) -> None:
        """Those that were buried are written down together; where they cannot be, they wait."""
        if not self._letters:
            return
        new = [one for one in self._letters if not self.dead_letters.are_written(one[0])]
        if self.dead_letters.write(new):
            if new:
                log.error(
                    "%s: %s dead letters, the first: message %s: %s",
                    *(self.name, len(new), new[0][0].serial, new[0][1]),
                )
            for record, _ in self._letters:
                self.window.finish(record.serial)
            self._forget_letters()

    def _forget_letters(self) -> None:
        self._letters.clear()
        self._letters_bytes = 0

    # When a link is made, and when it breaks.

    def rewind(self) -> None:
        self.window.rewind()
        self.reader.seek(self.window.base)
        self._found.begin_link()
        self._waiting.clear()
        self._times.clear()
        self._nameless, self._unwritable = None, ""
        self._forget_letters()

    def begin(self, topic: str, topic_view: TopicView) -> LookBack:
        """On a new link, where a topic is seen so; it is written down before anything is sent."""
        window, with_more = self.window, self._with_more()
        if self._another_has_sent(with_more):
            window.doubt(self.spool.next_index)
        self._looks_at_all = window.may_have_sent or topic.encode() in with_more
        plan = plan_look_back(
            window.known(topic),
            topic_view,
            may_have_sent=self._looks_at_all,
            another_may_have=window.another_may_have_sent,
        )
        self.window.begin(topic, topic_view.id, plan.safe)
        if plan.history is not TopicHistory.SAME:
            # What was met in the former topic is nowhere else.
            self._rename_from_the_first_of_another()
        self._found.begin_look(topic.encode())
        self._write()
        return plan

    def find(self, topic: str, messages: Iterable[Found]) -> bool:
        """With what they hold, as `content_of` says it: a name alone proves nothing.

        False: what was looked through does not do. Another life has sent what waits here, of which
        this one knew nothing; it is written down that more is to be looked for.
        """
        name = topic.encode()
        count = self._found.meet(name, self.identity(name), messages)
        self._found.end_look(self.spool.next_index)
        is_unexpected = count > 0 and not self._looks_at_all
        is_ahead = self._has_numbers_never_given(name)
        if is_ahead:
            self.spool.begin_life()
        if is_ahead or is_unexpected:
            self._rename_from_the_first_of_another()
        if is_unexpected:
            self.window.doubt(self.spool.next_index)
            self._write()
        self.window.end_look(topic)
        return self._looks_at_all or not self.window.may_have_sent

    def _has_numbers_never_given(self, topic: bytes) -> bool:
        if self._found.highest(topic, self.spool.epoch) < self.spool.next_number(topic):
            return False
        log.error(
            "%s: the broker has numbers of topic %s that this spool has never given: it was"
            " put back to an older state; what comes from now on has other names",
            *(self.name, topic.decode()),
        )
        return True

    # What is written down.

    def save(self) -> None:
        """How far it is, and what is not needed any more goes."""
        self.settle()
        if self._nameless:
            self._begin_life(self._nameless)
        base = self.window.base
        if self._allowed < self.window.next + ALLOWED_AHEAD // 2:
            self._allowed = self.window.next + ALLOWED_AHEAD
        self._quiet_saves += 1
        last = self._store.read()
        if (base, self._allowed) != (last.base, last.reach) or self._quiet_saves >= _FOLLOW_EVERY:
            self._write()
        self.spool.trim(base)
        self.spool.oldest_s = self._oldest_s()
        self.dead_letters.give_back(base)

    def _write(self) -> None:
        self._quiet_saves = 0
        held = {topic.decode() for topic in self._with_more()}
        progress = self.window.progress(self._allowed, held)
        self._store.write(progress.model_copy(update={"renamed_in": self.spool.renamed_in}))
        self.spool.note_progress(self._store.turn)

    def _oldest_s(self) -> int | None:
        while len(self._times) > 1 and self._times[1][0] <= self.window.base:
            self._times.popleft()
        if self.window.base >= self.spool.next_index or not self._times:
            return None
        return self._times[0][1]

    def close(self) -> None:
        self.save()
        self._write()
        self.reader.close()
        self._store.close()
