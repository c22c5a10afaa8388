"""Dead letters that are sent again, as messages in the order in which they were written."""

from __future__ import annotations

import base64
import json
import logging
import secrets
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from millrace.gateway.delivery.io.dead_letters import DeadLetters
from millrace.gateway.spool.core.message_identity import new_epoch
from millrace.gateway.spool.core.records import Draft, Record

log = logging.getLogger(__name__)
_READ = 100
TopicOf = Callable[[bytes], bytes]


class LetterBox:
    """Those of a file that had a topic, each under its own name; or, with `topic_of`, those that
    had none, under a name of this file and the topic that they are told now."""

    def __init__(self, file: Path, topic_of: TopicOf | None = None) -> None:
        self._file = file.open("rb")
        self._topic_of = topic_of
        # One life of names for each file.
        self.epoch = file.stat().st_mtime_ns
        # By message: where its line begins, and its number under a name of this file.
        self._lines, self._numbers = array("Q"), array("Q")
        self.damaged_bytes = 0
        self._find_lines()
        self.may_be_a_copy = False
        self.renamed_in = 0
        self.first_index = 0
        self.next_index = len(self._lines)
        self.oldest_s: int | None = None
        self.position = 0
        # From this message on names were given to others.
        self._renamed_from, self._renamed_epoch = self.next_index, 0

    def _find_lines(self) -> None:
        at, numbers = 0, Counter[bytes]()
        for line in self._file:
            letter = _letter(line)
            if letter is None:
                log.error(
                    "%s: what stands at byte %s is no dead letter; passed over", self._file.name, at
                )
                self.damaged_bytes += len(line)
            elif bool(letter["topic"]) == (self._topic_of is None):
                self._lines.append(at)
                topic = self._topic_of(base64.b64decode(letter["value"])) if self._topic_of else b""
                numbers[topic] += 1
                self._numbers.append(numbers[topic])
            at += len(line)

    def has_newer_progress(self, turn: int) -> bool:  # noqa: ARG002 - of a spool
        return False

    def note_progress(self, turn: int) -> None:
        """It is read to its end, and gone."""

    def read(self) -> list[Record]:
        begin = self.position
        self.position = min(begin + _READ, self.next_index)
        return self.named(self._record(ordinal) for ordinal in range(begin, self.position))

    def serial_of(self, ordinal: int) -> int:
        """In the spool that it came from."""
        return int(self._letter_at(ordinal)["serial"])

    def _record(self, ordinal: int) -> Record:
        letter = self._letter_at(ordinal)
        key, value = letter["key"], base64.b64decode(letter["value"])
        topic, epoch, number = letter["topic"].encode(), letter["epoch"], letter["number"]
        if self._topic_of:
            topic, epoch = self._topic_of(value), self.epoch
            number = self._numbers[ordinal]
        time_ms = round(datetime.fromisoformat(letter["taken_at"]).timestamp() * 1000)
        draft = Draft(topic, None if key is None else base64.b64decode(key), value)
        return Record(ordinal, 0, number, time_ms, draft, epoch)

    def _letter_at(self, ordinal: int) -> dict[str, Any]:
        self._file.seek(self._lines[ordinal])
        letter: dict[str, Any] = json.loads(self._file.readline())
        return letter

    def seek(self, index: int) -> None:
        self.position = index

    def trim(self, base: int) -> None:
        """The file goes when all of it is done."""

    def close(self) -> None:
        self._file.close()

    # Names.

    def next_number(self, _: bytes) -> int:
        return self.next_index + 1

    def begin_life(self, record: Record | None = None) -> None:
        self._renamed_from = record.serial if record else self.position
        self._renamed_epoch = new_epoch(int(time.time()), secrets.randbits(31))

    def named(self, records: Iterable[Record]) -> list[Record]:
        return [
            one if one.serial < self._renamed_from else one._replace(epoch=self._renamed_epoch)
            for one in records
        ]


class Returned:
    """Letters that no broker takes this time either."""

    def __init__(self, letters: DeadLetters, box: LetterBox) -> None:
        self._letters = letters
        self._box = box

    @property
    def count(self) -> int:
        return self._letters.count

    @property
    def obstacle(self) -> str:
        return self._letters.obstacle

    def write(self, letters: list[tuple[Record, str]]) -> bool:
        return self._letters.write([(self._original(one), why) for one, why in letters])

    def are_written(self, record: Record) -> bool:
        return self._letters.are_written(self._original(record))

    def give_back(self, base: int) -> None:
        """Nobody asks for these."""

    def _original(self, record: Record) -> Record:
        return record._replace(serial=self._box.serial_of(record.serial))


def _letter(line: bytes) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return found
