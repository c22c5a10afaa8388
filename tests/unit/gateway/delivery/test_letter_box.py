"""Dead letters on their way back: their names, their order, and a crash in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.gateway.delivery.core.look_back import TopicView
from millrace.gateway.delivery.core.window import DeliveryProgress
from millrace.gateway.delivery.io.courier import Courier
from millrace.gateway.delivery.io.dead_letters import DeadLetters
from millrace.gateway.delivery.io.letter_box import LetterBox, Returned
from millrace.gateway.delivery.io.link import Link
from millrace.gateway.delivery.io.progress_file import ProgressFile
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.service.io.resend import Resend, ask_for
from millrace.gateway.spec.core.input_specs import TcpInput
from millrace.gateway.spool.core.message_identity import content_of
from millrace.gateway.spool.core.records import Draft, Record
from tests.support import wait_until


def letter(serial: int, topic: bytes = b"t", epoch: int = 7) -> tuple[Record, str]:
    draft = Draft(topic, b"k", b"value %d" % serial)
    return Record(serial, 0, serial + 100, 1_800_000_000_000, draft, epoch), "refused"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    letters = DeadLetters(tmp_path, 1 << 20, 0)
    letters.write([letter(3), letter(5, b""), letter(8, epoch=9), letter(9, b""), letter(11)])
    (tmp_path / "resend").touch()
    letters.give_back(100)
    return tmp_path / "resending.jsonl"


def test_letters_keep_epoch_and_number(file):
    records = LetterBox(file).read()
    assert [(one.epoch, one.number) for one in records] == [(7, 103), (9, 108), (7, 111)]
    first = letter(3)[0]
    assert records[0] == first._replace(serial=0)


def test_letters_that_had_no_topic_count_by_the_topic_they_are_told(file):
    box = LetterBox(file, lambda value: b"u" if value == b"value 9" else b"")
    records = box.read()
    assert [(one.draft.topic, one.number) for one in records] == [(b"", 1), (b"u", 1)]
    assert {one.epoch for one in records} == {file.stat().st_mtime_ns}


def test_a_line_that_is_no_letter_is_passed_over(file):
    with file.open("ab") as lines:
        lines.write(b'{"epoch": 7, "ser')
    box = LetterBox(file)
    assert (len(box.read()), box.damaged_bytes) == (3, 17)


def courier_of(file: Path, letters: DeadLetters) -> Courier:
    box, store = LetterBox(file), ProgressFile(file.with_suffix(".progress"))
    box.seek(store.read().base)
    return Courier("plant-t", "lines", box, box, store, Returned(letters, box))


def test_a_crash_in_the_middle_sends_none_twice_and_returns_what_is_refused_again(file):
    letters = DeadLetters(file.parent, 1 << 20, 100)
    courier = courier_of(file, letters)
    courier.begin("t", TopicView("id", {0: 0}, {0: 5}))
    first = courier.next()
    assert first
    courier.hand_over(first)  # it arrives, and nobody hears of it
    arrived = (courier.headers(first), content_of(first.draft.key, first.draft.value))

    again = courier_of(file, letters)
    plan = again.begin("t", TopicView("id", {0: 0}, {0: 6}))
    assert (plan.begins, plan.ends) == ({0: 5}, {0: 6})
    again.find("t", [arrived])
    second = again.next()
    assert second
    assert second.number == 108
    again.bury(second, "refused again")
    third = again.next()
    assert third
    again.hand_over(third)
    again.window.finish(third.serial)
    again.save()
    assert again.waiting == 0
    (line,) = (file.parent / "dead-letters.jsonl").read_text().splitlines()
    assert line.startswith('{"epoch": 9, "serial": 8, "reason": "refused again"')


def test_when_all_are_done_nothing_is_left_of_them(file):
    def connect() -> Link:
        raise AssertionError("nothing is to be sent")

    spec = TcpInput(
        name="lines", kind="tcp", topic="t", listen="127.0.0.1:7001", plain=True, risk=RISK
    )
    for kind, base in (("own", 3), ("again", 2)):
        store = ProgressFile(file.with_name(f"{file.name}.{file.stat().st_mtime_ns}.{kind}"))
        store.write(DeliveryProgress(base=base))
        store.close()
    resend = Resend("plant-t", spec, file.parent, DeadLetters(file.parent, 1 << 20, 0), connect)
    resend.look_after()
    assert resend.delivery
    wait_until(lambda: not resend.delivery.is_alive())
    assert resend.waiting == 0
    resend.look_after()
    assert list(file.parent.iterdir()) == []
    resend.look_after()
    assert resend.delivery is None


def test_who_asks_hears_how_many_are_sent_again(tmp_path):
    assert ask_for(tmp_path) == 0
    assert not (tmp_path / "resend").exists(), "there is nothing to ask for"
    DeadLetters(tmp_path, 1 << 20, 0).write([letter(1), letter(2)])
    assert ask_for(tmp_path) == 2
    assert (tmp_path / "resend").exists()
