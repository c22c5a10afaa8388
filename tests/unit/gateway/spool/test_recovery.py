"""A spool after a write that was cut at any byte: what was safe is there, and the rest is free."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.core.segments import heading_bytes
from millrace.gateway.spool.io.recovery import look
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader

BOUNDS = SpoolBounds(segment_bytes=1 << 16, total_bytes=1 << 20)
groups = st.lists(st.lists(st.sampled_from([0, 1, 60, 3_000]), min_size=1, max_size=5), max_size=12)


def drafts(group: int, sizes: list[int]) -> list[Draft]:
    return [
        Draft(b"t", None, b"%d.%d " % (group, n) + b"x" * size, b"plc", group * 10 + n + 1)
        for n, size in enumerate(sizes)
    ]


def read(spool: Spool) -> list[Record]:
    reader, found = Reader(spool, 0), []
    while records := reader.read():
        found += records
    reader.close()
    return found


@pytest.mark.generated
@settings(max_examples=30)
@given(
    safe=groups,
    torn=st.lists(st.sampled_from([0, 60, 3_000]), min_size=1, max_size=5),
    share=st.floats(0, 1),
    hole=st.floats(0, 1),
)
def test_after_a_cut_at_any_byte_what_was_safe_is_there_and_goes_on(safe, torn, share, hole):
    """`share` of the last write came to the disk, but for the sector at `hole` of that."""
    with TemporaryDirectory() as text:
        folder = Path(text)
        spool = Spool(folder, BOUNDS, waits_for_missing=False)
        for number, sizes in enumerate(safe):
            spool.keep(drafts(number, sizes))
        known, epoch = read(spool), spool.epoch
        segment, begin, _ = spool.durable
        # The process ends before it has heard of the sync: nobody was answered.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spool.life, "note", lambda _: None)
            spool.keep(drafts(len(safe), torn))
        newest, end, _ = spool.durable
        if newest != segment or not safe:
            # A segment is there as a whole, under its name, before anything is written behind it.
            begin = heading_bytes(spool.path(newest).read_bytes())
        spool.close()
        at = begin + int((end - begin) * share)
        with (folder / spool.path(newest).name).open("r+b") as file:
            size = file.seek(0, 2)
            file.seek(at)
            file.write(bytes(size - at))
            if begin < at:
                file.seek(begin + int((at - begin) * hole))
                file.write(bytes(min(512, at - file.tell())))

        seen = look(folder)
        again = Spool(folder, BOUNDS, waits_for_missing=False)
        left = read(again)
        assert left[: len(known)] == known
        rest = [one.draft for one in left[len(known) :]]
        assert rest == drafts(len(safe), torn)[: len(rest)]
        assert (again.epoch, again.life.missing) == (epoch, 0)
        assert seen == range(again.first_index, again.next_index)
        kept = again.keep(drafts(len(safe) + 1, [1, 60]))
        assert [one.serial for one in kept if isinstance(one, Record)] == [
            again.next_index - 2,
            again.next_index - 1,
        ]
        now = read(again)
        assert len({(one.epoch, one.number) for one in now}) == len(left) + 2
        again.close()
        # Nothing of the write that was cut short comes back behind what was written over it.
        third = Spool(folder, BOUNDS, waits_for_missing=False)
        assert read(third) == now
        third.close()
