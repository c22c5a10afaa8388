from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io import generations
from millrace.jobs.io.mailbox import Mailbox
from millrace.storage.io.files import write_atomic, write_new

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_generation_has_one_owner(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda _: generations.claim(tmp_path, 1), range(64)))
    assert won.count(True) == 1


def test_an_older_generation_is_never_claimed_again(tmp_path: Path) -> None:
    assert generations.claim(tmp_path, 3)
    assert not generations.claim(tmp_path, 2)
    assert generations.latest(tmp_path) == 3


def test_old_claims_are_forgotten_but_never_the_newest(tmp_path: Path) -> None:
    for number in range(1, 131):
        assert generations.claim(tmp_path, number)
    assert generations.latest(tmp_path) == 130
    assert len(list(tmp_path.iterdir())) == 100


def test_no_folder_is_generation_zero(tmp_path: Path) -> None:
    assert generations.latest(tmp_path / "nowhere") == 0


def test_a_file_is_its_owner_s_alone(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", "secret")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_a_heartbeat_reads_as_written(tmp_path: Path) -> None:
    beat = IngestBeat(job="t", generation=3, fingerprint="f", phase=Phase.RUNNING, at=NOW)
    box = Mailbox(tmp_path)
    assert box.read_heartbeat(IngestBeat) is None
    box.write_heartbeat(beat)
    assert box.read_heartbeat(IngestBeat) == beat


def test_a_heartbeat_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    """A job goes on while what watches it is renewed."""
    part = '{"topic": "t", "partition": 0, "position": 4, "end": 9, "oldest_waiting": null}'
    (tmp_path / "heartbeat.json").write_text(
        '{"job": "t", "generation": 3, "fingerprint": "f", "phase": "running",'
        ' "at": "2026-01-01T00:00:00Z", "error": "", "sites": [{"site": "plant-a", "batch": 1,'
        ' "rows_per_s": 1, "rows_total": 1, "last_batch_at": null, "reachable": true,'
        f' "refused": {{}}, "broken": {{}}, "partitions": [{part}]}}]}}'
    )
    beat = Mailbox(tmp_path).read_heartbeat(IngestBeat)
    assert beat is not None
    assert (beat.lag_records, beat.sites[0].partitions[0].newest_at) == (5, None)


def test_a_damaged_heartbeat_is_no_heartbeat(tmp_path: Path) -> None:
    (tmp_path / "heartbeat.json").write_text('{"job": "t"')
    assert Mailbox(tmp_path).read_heartbeat(IngestBeat) is None


def test_starts_are_kept_in_order_and_bounded(tmp_path: Path) -> None:
    box = Mailbox(tmp_path)
    for number in range(1, 103):
        box.add_start(number, NOW, "exit 137", failure=True)
    assert [start.generation for start in box.read_starts()] == list(range(3, 103))


def test_a_new_name_is_safe_on_disk_when_the_write_returns(tmp_path, monkeypatch):
    """First what is in the file, then the folder that names it."""
    synced: list[Path] = []
    sync = os.fsync

    def fsync(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomic(tmp_path / "a", "text")
    assert write_new(tmp_path / "b", "text")
    assert [path.parent if path != tmp_path else path for path in synced] == [tmp_path] * 4
    assert [path == tmp_path for path in synced] == [False, True, False, True]
