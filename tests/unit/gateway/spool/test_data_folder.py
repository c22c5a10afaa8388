"""One process writes in a gateway's data folder; whoever only looks changes nothing in it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.base.errors import MillraceError
from millrace.gateway.delivery.core.window import DeliveryProgress
from millrace.gateway.delivery.io.progress_file import ProgressFile
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.service.io.backlog import count_waiting
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io import spool_files as spool_module
from millrace.gateway.spool.io.data_folder import hold
from millrace.gateway.spool.io.disk import write_whole
from millrace.gateway.spool.io.recovery import look
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader

BOUNDS = SpoolBounds(segment_bytes=1 << 18, total_bytes=1 << 26)
LINES = {
    "name": "lines",
    "kind": "tcp",
    "listen": "127.0.0.1:1",
    "plain": True,
    "risk": RISK,
    "topic": "t",
}
_WRITES_ELSEWHERE = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.io.spool_files import Spool
Spool(Path(sys.argv[1]), SpoolBounds(segment_bytes=1 << 18, total_bytes=1 << 26))
"""


def drafts(count: int) -> list[Draft]:
    return [Draft(b"t", None, b"m" * 900) for _ in range(count)]


def spec_of(data: Path) -> GatewaySpec:
    return GatewaySpec.model_validate({"site": "plant-t", "data": data, "inputs": [LINES]})


def count_left(spool: Spool) -> int:
    reader, count = Reader(spool, 0), 0
    while records := reader.read():
        count += len(records)
    reader.close()
    return count


def fingerprint(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(file): (file.stat().st_mtime_ns, file.stat().st_size, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_a_second_process_is_refused_and_hears_who_holds_the_folder(tmp_path):
    spool = Spool(tmp_path, BOUNDS)
    spool.keep(drafts(3))
    before = fingerprint(tmp_path)
    second = subprocess.run(
        [sys.executable, "-c", _WRITES_ELSEWHERE, tmp_path], capture_output=True, text=True
    )
    assert second.returncode == 1
    assert f"process {os.getpid()}" in second.stderr
    assert str(tmp_path) in second.stderr
    assert fingerprint(tmp_path) == before
    spool.close()


def test_a_spool_that_was_closed_is_opened_again(tmp_path):
    Spool(tmp_path, BOUNDS).close()
    Spool(tmp_path, BOUNDS).close()


def test_a_full_disk_keeps_nobody_from_holding_a_folder(tmp_path, monkeypatch):
    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    hold(tmp_path).close()
    monkeypatch.setattr(os, "pwrite", no_room)
    held = hold(tmp_path)
    with pytest.raises(MillraceError, match="works with it"):
        hold(tmp_path)
    held.close()


def test_a_folder_that_is_none_is_an_error_that_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(MillraceError, match=r"file: it cannot be written"):
        hold(tmp_path / "file")


def test_a_gateway_is_refused_the_folder_of_another_before_it_opens_anything(tmp_path):
    data = tmp_path / "data"
    held = hold(data)
    file = tmp_path / "gateway.yaml"
    file.write_text(yaml.safe_dump({"site": "plant-t", "data": "data", "inputs": [LINES]}))
    command = [Path(sys.executable).with_name("millrace"), "gateway", "run", file]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert second.returncode != 0
    said = "".join((second.stdout + second.stderr).split())
    assert f"process{os.getpid()}" in said
    assert [one.name for one in data.iterdir()] == ["gateway.lock"]
    held.close()


def test_what_waits_is_counted_and_nothing_is_changed(tmp_path):
    folder = tmp_path / "lines"
    spool = Spool(folder / "spool", BOUNDS)
    spool.keep(drafts(1_000))
    progress = ProgressFile(folder / "progress")
    progress.write(DeliveryProgress(base=400))
    (folder / "spool" / "draft.new").touch()
    with spool.path(spool.segment_of(1_000) or 0).open("r+b") as torn:
        torn.seek(spool.durable[1] + 5)
        torn.write(b"torn")
    before = fingerprint(tmp_path)
    assert count_waiting(spec_of(tmp_path)) == {"lines": 600}
    assert fingerprint(tmp_path) == before
    progress.close()
    spool.close()


def test_outcomes_of_commands_that_wait_are_counted_too(tmp_path):
    spool = Spool(tmp_path / "commands" / "spool", BOUNDS)
    spool.keep(drafts(2))
    assert count_waiting(spec_of(tmp_path)) == {"commands": 2}
    spool.close()


def test_a_folder_that_may_not_be_written_is_looked_at_all_the_same(tmp_path):
    spool = Spool(tmp_path / "lines" / "spool", BOUNDS)
    spool.keep(drafts(5))
    spool.close()
    opened, real = [], os.open

    def watched(path, flags, *more, **named):
        opened.append((str(path), flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))
        return real(path, flags, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", watched)
        assert count_waiting(spec_of(tmp_path)) == {"lines": 5}
    assert [path for path, writes in opened if writes] == []


def test_looks_beside_a_living_writer_cost_it_no_message(tmp_path):
    """A look sees at least what was safe when it began, and never more than is there at its end."""
    spool = Spool(tmp_path / "lines" / "spool", BOUNDS)
    spool.keep(drafts(1))
    counts, trouble = [], []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            least = spool.next_index
            count = count_waiting(spec_of(tmp_path))["lines"]
            counts.append(count)
            with pytest.raises(MillraceError):
                Spool(tmp_path / "lines" / "spool", BOUNDS)
            if not least <= count:
                trouble.append((least, count))

    looking = threading.Thread(target=look)
    looking.start()
    safe = 1
    while len(counts) < 8:
        spool.keep(drafts(50))
        safe += 50
    is_over.set()
    looking.join()
    assert not trouble
    spool.close()
    again = Spool(tmp_path / "lines" / "spool", BOUNDS)
    assert count_left(again) == safe
    again.close()


steps = st.lists(
    st.tuples(st.sampled_from(["keep", "keep", "trim", "drop"]), st.integers(1, 200)), max_size=12
)


@pytest.mark.generated
@settings(max_examples=25)
@given(steps=steps, share=st.floats(0, 1))
def test_beside_a_living_writer_others_look_and_are_refused_and_change_no_byte(steps, share):
    """Between its steps, and while `share` of a write is on the disk."""
    with TemporaryDirectory() as text, pytest.MonkeyPatch.context() as patch:
        folder = Path(text)
        spool = Spool(folder, BOUNDS)

        def look_on(least: int, most: int) -> None:
            before = fingerprint(folder)
            seen = look(folder)
            assert seen.start == spool.first_index or not seen
            assert least <= seen.stop <= most or not seen
            with pytest.raises(MillraceError, match="works with it"):
                Spool(folder, BOUNDS)
            assert fingerprint(folder) == before

        def write_slowly(handle: int, data: bytes, at: int) -> None:
            part = int(len(data) * share)
            write_whole(handle, data[:part], at)
            look_on(spool.next_index, spool.next_index + count)
            write_whole(handle, data[part:], at + part)

        patch.setattr(spool_module, "write_whole", write_slowly)
        for what, count in steps:
            if what == "keep":
                spool.keep(drafts(count))
            elif what == "trim":
                spool.trim(spool.next_index * count // 200)
            else:
                spool.drop_oldest()
            look_on(spool.next_index, spool.next_index)
        assert count_left(spool) == spool.next_index - spool.first_index
        spool.close()
