"""Messages under new names: what they are named, and that they stay so."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.renamed import renamed_in


def record_of(serial: int, epoch: int = 1) -> Record:
    return Record(serial, 0, serial + 1, 0, Draft(b"t", None, b""), epoch)


def epochs_in(file: Path, epoch: int = 1) -> list[int]:
    """Of messages 2 to 6."""
    return [renamed_in(file).apply(record_of(serial, epoch)).epoch for serial in range(2, 7)]


def test_what_is_behind_a_message_that_is_named_anew_is_named_anew_with_it(tmp_path):
    file = tmp_path / "renamed.json"
    assert epochs_in(file) == [1] * 5
    renamed_in(file).add(record_of(4), epoch=7)
    assert epochs_in(file) == [1, 1, 7, 7, 7]
    assert epochs_in(file, epoch=7) == [7] * 5, "names of the new epoch are as they are"
    assert renamed_in(file).newest == 7


def test_a_message_keeps_its_new_name_when_one_before_it_gets_a_new_name(tmp_path):
    file = tmp_path / "renamed.json"
    renamed_in(file).add(record_of(5), epoch=7)
    renamed_in(file).add(record_of(3), epoch=8)
    assert epochs_in(file) == [1, 8, 8, 7, 7]


def test_a_new_name_may_be_followed_by_another(tmp_path):
    file = tmp_path / "renamed.json"
    renamed_in(file).add(record_of(3), epoch=7)
    renamed_in(file).add(record_of(5, epoch=7), epoch=8)
    assert epochs_in(file) == [1, 7, 7, 8, 8]
    assert renamed_in(file).newest == 8


def test_a_name_that_could_not_be_written_down_is_not_given(tmp_path):
    file = tmp_path / "renamed.json"
    renamed = renamed_in(file)
    file.mkdir()
    with pytest.raises(OSError, match="directory"):
        renamed.add(record_of(3), epoch=7)
    assert renamed.apply(record_of(3)).epoch == 1
