"""A checkpoint's files, as Spark writes them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from millrace.base.errors import MillraceError
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.storage.io.properties import read_properties


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    (tmp_path / "metadata").write_text('{"id":"15ce0501"}')
    for batch in (8, 9, 10):
        text = f'v1\n{{"batchWatermarkMs":0}}\n{{"readings":{{"0":{batch}}}}}'
        (tmp_path / "offsets" / str(batch)).write_text(text)
    for batch in (8, 9):
        (tmp_path / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    (tmp_path / "commits" / ".10.crc").write_text("")
    return Checkpoint(tmp_path)


def test_a_planned_batch_is_not_a_finished_one(checkpoint: Checkpoint) -> None:
    assert (checkpoint.last_planned(), checkpoint.last_commit()) == (10, 9)


def test_offsets_are_those_where_a_batch_ends(checkpoint: Checkpoint) -> None:
    assert checkpoint.offsets(9) == {("readings", 0): 9}
    assert checkpoint.offsets(3) == {}


def test_the_first_batch_begins_where_the_query_began(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    (tmp_path / "sources" / "0").mkdir(parents=True)
    (tmp_path / "sources" / "0" / "0").write_text('\0v1\n{"readings":{"0":5}}')
    assert checkpoint.offsets(-1) == {("readings", 0): 5}


def test_the_writer_is_the_checkpoint_identity(checkpoint: Checkpoint) -> None:
    assert checkpoint.query_id() == "15ce0501"


def test_a_commit_has_a_time(checkpoint: Checkpoint) -> None:
    assert isinstance(checkpoint.committed_at(9), datetime)
    assert checkpoint.committed_at(10) is None


def test_before_the_first_start_nothing_is_done(tmp_path: Path) -> None:
    fresh = Checkpoint(tmp_path / "none")
    assert (fresh.last_planned(), fresh.last_commit(), fresh.offsets(-1)) == (-1, -1, {})


def test_properties_keep_what_follows_the_first_equals_sign(tmp_path: Path) -> None:
    file = tmp_path / "user.properties"
    file.write_text('# made once\nusername=ingest\njaas=Login required password="a=b";\n')
    assert read_properties(file) == {
        "username": "ingest",
        "jaas": 'Login required password="a=b";',
    }


def test_a_missing_secret_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match=r"none\.properties: No such file"):
        read_properties(tmp_path / "none.properties")
