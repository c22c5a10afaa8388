"""What no broker takes is on disk before it is done, within a bound, and stops nothing for good."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from millrace.gateway.delivery.io.dead_letters import DeadLetters
from millrace.gateway.spool.core.records import Draft, Record


def letter(serial: int, size: int = 10, epoch: int = 1) -> tuple[Record, str]:
    draft = Draft(b"t", b"k", b"x" * size)
    return Record(serial, 0, serial + 1, 0, draft, epoch), "too large"


def serials(folder: Path) -> list[int]:
    lines = (folder / "dead-letters.jsonl").read_text().splitlines()
    return [json.loads(line)["serial"] for line in lines]


def test_a_burst_is_synced_once(tmp_path, monkeypatch):
    letters = DeadLetters(tmp_path, 1 << 20, 0)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    assert letters.write([letter(n) for n in range(1_000)])
    assert (len(synced), letters.count, len(serials(tmp_path))) == (1, 1_000, 1_000)


def test_at_its_bound_nothing_more_is_written_and_it_says_so(tmp_path):
    letters = DeadLetters(tmp_path, 2_000, 0)
    assert letters.write([letter(1, 500)])
    assert not letters.write([letter(2, 500), letter(3, 500)])
    assert "as much as dead_letters: 1.953 KB allows" in letters.obstacle
    assert serials(tmp_path) == [1]
    (tmp_path / "dead-letters.jsonl").rename(tmp_path / "looked-at.jsonl")
    assert letters.write([letter(2, 500), letter(3, 500)])
    assert (letters.obstacle, letters.count) == ("", 2)


def test_a_full_disk_is_waited_for_and_leaves_no_half_a_line(tmp_path, monkeypatch):
    letters = DeadLetters(tmp_path, 1 << 20, 0)
    assert letters.write([letter(1)])
    write = os.write

    def half(handle: int, data: Any) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[:50])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        assert not letters.write([letter(2)])
    assert "No space left" in letters.obstacle
    assert serials(tmp_path) == [1]
    assert letters.write([letter(2)])
    assert serials(tmp_path) == [1, 2]


def test_after_a_crash_none_is_written_twice_and_what_was_cut_short_is_forgotten(tmp_path):
    letters = DeadLetters(tmp_path, 1 << 20, 0)
    letters.write([letter(n) for n in range(5)])
    with (tmp_path / "dead-letters.jsonl").open("ab") as file:
        file.write(b'{"epoch": 1, "serial": 5, "rea')
    again = DeadLetters(tmp_path, 1 << 20, base=3)
    assert again.count == 5
    written = [again.are_written(letter(n)[0]) for n in range(6)]
    assert written == [False, False, False, True, True, False], "those before the base are done"
    assert not again.are_written(letter(4, epoch=2)[0]), "it is of another spool"
    again.write([letter(5)])
    assert serials(tmp_path) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("base", [4, 5])
def test_letters_are_given_back_when_none_can_be_written_a_second_time(tmp_path, base):
    letters = DeadLetters(tmp_path, 1 << 20, 0)
    letters.write([letter(n) for n in range(5)])
    (tmp_path / "resend").touch()
    letters.give_back(base)
    assert (tmp_path / "resend").exists() == (base == 4)
    assert (tmp_path / "resending.jsonl").exists() == (base == 5)
    assert letters.count == (5 if base == 4 else 0)
