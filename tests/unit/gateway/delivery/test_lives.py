"""A spool that was copied or came back in an older state: no two messages have one identity."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.gateway.delivery.core.look_back import GLANCE, TopicView
from millrace.gateway.delivery.io import courier
from millrace.gateway.delivery.io.courier import courier_of
from millrace.gateway.delivery.io.progress_file import ProgressFile
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.message_identity import Headers, content_of, new_epoch
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io import witness
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader

BOUNDS = SpoolBounds(segment_bytes=1 << 18, total_bytes=1 << 22)
# As many of somebody else as a glance shows.
STRANGERS: list[tuple[Headers, bytes]] = [([], b"a stranger's")] * GLANCE
At = dict[tuple[bytes, bytes], bytes]


def drafts(text: str, count: int) -> list[Draft]:
    return [Draft(b"t", None, b"%s %d" % (text.encode(), n)) for n in range(count)]


def words(text: str, count: int) -> list[bytes]:
    return [one.value for one in drafts(text, count)]


class Site:
    """A spool and a courier of it, and a broker that is a list."""

    topics = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broker: list[tuple[Headers, bytes]] = []
        self.start()

    def start(self) -> None:
        self.open()
        self.connect()

    def open(self) -> None:
        self.spool = Spool(self.folder / "spool", BOUNDS)
        self.courier = courier_of("plant-a", "lines", self.spool, self.folder)
        self.ends: dict[tuple[str, int], int] = {}
        self.courier.window.share(self.ends)

    def connect(self) -> None:
        self.courier.rewind()
        end = len(self.broker)
        plan = self.courier.begin("t", TopicView(f"id-{self.topics}", {0: 0}, {0: end}))
        self.ends["t", 0] = end
        there = self.broker[plan.begins[0] : plan.ends[0]] if plan.ends else []
        found = ((one, content_of(None, value)) for one, value in there)
        if not self.courier.find("t", found):
            self.connect()

    def make_topic_anew(self) -> None:
        self.topics += 1
        self.broker = []

    def keep(self, text: str, count: int) -> None:
        self.spool.keep(drafts(text, count))

    def deliver(self, most: int = 1_000_000) -> None:
        while most > 0 and (record := self.courier.next()):
            self.courier.hand_over(record)
            self.broker.append((self.courier.headers(record), record.draft.value))
            self.courier.window.finish(record.serial)
            self.ends["t", 0] = len(self.broker)
            most -= 1
        self.courier.save()

    def send_unanswered(self) -> None:
        record = self.courier.next()
        assert record
        self.broker.append((self.courier.headers(record), record.draft.value))
        self.courier.hand_over(record)

    def stop(self) -> None:
        self.courier.close()
        self.spool.close()

    def kill(self) -> None:
        """Nothing is written down."""
        self.courier.reader.close()
        self.spool.close()

    def back_up(self, to: Path) -> None:
        shutil.copytree(self.folder, to)

    def back_up_machine(self, to: Path) -> None:
        """With its memory, as a snapshot of a virtual machine."""
        self.back_up(to / "backup")
        shutil.copytree(witness.PLACE, to / "memory")

    def restore_machine(self, of: Path, *, connects: bool = True) -> None:
        shutil.copytree(of / "memory", witness.PLACE, dirs_exist_ok=True)
        self.restore(of / "backup", connects=connects, in_place=True)

    def restore(self, backup: Path, *, connects: bool = True, in_place: bool = False) -> None:
        if in_place:
            for file in (self.folder / "spool").iterdir():
                file.unlink()
        else:
            # It is not deleted: its inode might be the next folder's.
            self.folder.rename(Path(mkdtemp(dir=self.folder.parent)) / "away")
        shutil.copytree(backup, self.folder, dirs_exist_ok=True)
        self.open()
        if connects:
            self.connect()

    @property
    def values(self) -> list[bytes]:
        return [value for _, value in self.broker]

    @property
    def identities(self) -> list[tuple[object, object]]:
        found = [dict(headers) for headers, _ in self.broker]
        return [(one["millrace-epoch"], one["millrace-seq"]) for one in found]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path / "lines")
    yield made
    made.stop()


def test_what_comes_to_a_restored_folder_is_sent(site, tmp_path):
    site.keep("old", 3)
    site.deliver()
    site.stop()
    site.back_up(tmp_path / "backup")
    site.start()
    site.keep("life", 100)
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup")
    site.keep("new", 50)
    site.deliver()
    assert site.values == [*words("old", 3), *words("life", 100), *words("new", 50)]
    assert len(set(site.identities)) == 153


def test_what_waited_in_a_backup_and_was_delivered_since_is_not_sent_again(site, tmp_path):
    site.keep("waits", 20)
    site.deliver(5)
    site.back_up(tmp_path / "backup")
    site.deliver()
    site.keep("life", 10)
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup")
    site.keep("new", 10)
    site.deliver()
    assert site.values == [*words("waits", 20), *words("life", 10), *words("new", 10)]


def test_names_that_cannot_be_written_hold_their_messages_up_until_they_can_be(site, tmp_path):
    """As on a full disk."""
    site.keep("mine", 3)
    site.send_unanswered()
    site.broker[0] = (site.broker[0][0], b"another's")
    in_its_place = tmp_path / "lines" / "spool" / "renamed.json"
    in_its_place.mkdir()
    site.connect()
    for _ in range(2):
        site.deliver()
        assert site.values == [b"another's"]
        assert "names" in site.courier.held_up
    in_its_place.rmdir()
    site.courier.save()
    assert not site.courier.held_up
    site.deliver()
    assert site.values == [b"another's", *words("mine", 3)]
    assert len(set(site.identities)) == 4


def test_of_a_copy_another_may_have_sent_all_that_waits(site, tmp_path):
    """Also what its own progress calls never sent."""
    site.keep("sent", 3)
    site.deliver()
    site.keep("waits", 5)
    site.stop()
    store = ProgressFile(tmp_path / "lines" / "progress")
    store.write(store.read().model_copy(update={"reach": 3}))
    store.close()
    site.back_up(tmp_path / "backup")
    site.start()
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup", connects=False)
    assert site.courier.window.may_have_sent
    site.connect()
    site.deliver()
    assert site.values == [*words("sent", 3), *words("waits", 5)]


def test_a_copy_that_is_killed_before_its_first_link_still_looks_back(site, tmp_path):
    site.keep("waits", 5)
    site.back_up(tmp_path / "backup")
    site.broker += STRANGERS
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup", connects=False)
    site.keep("new", 1)
    site.kill()
    site.start()
    site.deliver()
    assert site.values[len(STRANGERS) :] == [*words("waits", 5), *words("new", 1)]


def deliver_more_than_the_backup_has(site, backup):
    """Its progress is newer than its spool, as it was copied while the gateway ran."""
    site.keep("old", 3)
    site.deliver()
    site.back_up(backup)
    site.keep("life", 100)
    site.deliver()
    site.stop()
    shutil.copy(site.folder / "progress", backup / "progress")


def test_what_a_restored_folder_keeps_before_its_first_link_is_not_taken_for_done(site, tmp_path):
    deliver_more_than_the_backup_has(site, tmp_path / "backup")
    site.restore(tmp_path / "backup", connects=False)
    site.keep("new", 50)
    site.kill()
    site.start()
    site.deliver()
    assert site.values == [*words("old", 3), *words("life", 100), *words("new", 50)]


def test_a_backup_of_before_the_first_link_is_looked_for_in_all_of_the_topic(tmp_path):
    site = Site.__new__(Site)
    site.folder, site.broker = tmp_path / "lines", []
    site.open()
    site.keep("waits", 5)
    site.back_up(tmp_path / "backup")
    site.connect()
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup")
    site.deliver()
    assert site.values == words("waits", 5)
    site.stop()


def test_what_was_delivered_since_a_backup_is_known_though_nothing_was_kept_since(site, tmp_path):
    """Its spool is as it was; what says how far it is delivered is not."""
    site.keep("waits", 5)
    site.back_up(tmp_path / "backup")
    site.broker += STRANGERS
    site.deliver()
    site.stop()
    site.restore(tmp_path / "backup", in_place=True)
    site.deliver()
    assert site.values[len(STRANGERS) :] == words("waits", 5)


def test_what_a_glance_finds_is_not_forgotten_when_that_link_breaks(site, tmp_path):
    """Of a machine whose memory was put back too."""
    site.keep("waits", 5)
    site.back_up_machine(tmp_path)
    site.deliver()
    site.stop()
    site.restore_machine(tmp_path, connects=False)
    assert not site.spool.may_be_a_copy
    site.connect()
    site.courier.save()
    site.connect()
    site.deliver()
    assert site.values == words("waits", 5)


def test_a_name_that_was_met_unnoticed_is_not_given_in_a_topic_made_anew(site, tmp_path):
    """The machine that came back had sent something itself, and has more messages than the other:
    that these are another's shows when they are compared."""
    site.keep("old", 2)
    site.send_unanswered()
    site.back_up_machine(tmp_path)
    site.keep("life", 2)
    site.connect()
    site.deliver()
    site.stop()
    site.restore_machine(tmp_path, connects=False)
    site.keep("new", 4)
    site.connect()
    names_of_another = site.identities[2:]
    site.make_topic_anew()
    site.connect()
    site.deliver()
    assert site.values == [*words("old", 2), *words("new", 4)]
    assert not set(site.identities) & set(names_of_another)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_name_that_was_seen_to_be_anothers_is_not_given_in_a_topic_made_anew(
    site, tmp_path, is_killed
):
    """A machine came back with its memory. The topic, which alone shows another life, is deleted
    before the first message is compared with it in its turn."""
    site.keep("old", 2)
    site.back_up_machine(tmp_path)
    site.keep("life", 3)
    site.deliver()
    site.stop()
    site.restore_machine(tmp_path, connects=False)
    site.keep("new", 2)
    site.connect()
    names_of_another = site.identities[2:]
    if is_killed:
        site.kill()
        site.open()
    site.make_topic_anew()
    site.connect()
    site.deliver()
    assert site.values == [*words("old", 2), *words("new", 2)]
    assert not set(site.identities) & set(names_of_another)


def test_what_was_sent_beyond_what_a_restored_machine_allowed_is_found_on_every_link(
    site, tmp_path, monkeypatch
):
    """Its memory was put back too, so it knows of no other life. Halfway it comes to a message of
    another topic, and all that it may have sent itself is done."""
    monkeypatch.setattr(courier, "ALLOWED_AHEAD", 6)
    site.keep("old", 3)
    site.deliver()
    site.spool.keep([*drafts("near", 3), Draft(b"u", None, b"of u"), *drafts("far", 5)])
    site.back_up_machine(tmp_path)
    site.deliver()
    site.stop()
    site.restore_machine(tmp_path)
    assert site.courier.next().draft.value == b"of u"
    there = [(one, content_of(None, value)) for one, value in site.broker]
    site.courier.begin("u", TopicView("id-u", {0: 0}, {0: len(there)}))
    site.courier.find("u", there)
    site.connect()
    site.deliver()
    far = [value for value in site.values if value.startswith(b"far")]
    assert far == words("far", 5)


def test_a_backup_whose_progress_is_newer_than_its_spool_holds_nothing_up(site, tmp_path):
    deliver_more_than_the_backup_has(site, tmp_path / "backup")
    site.restore(tmp_path / "backup")
    site.keep("new", 50)
    site.deliver()
    assert site.values == [*words("old", 3), *words("life", 100), *words("new", 50)]


def test_a_backup_whose_progress_is_newer_than_its_new_names_gives_no_name_twice(site, tmp_path):
    """Offsets that are behind another's message were safe only under the new names."""
    site.keep("old", 1)
    site.send_unanswered()
    site.back_up_machine(tmp_path)
    site.keep("life", 1)
    site.connect()
    site.deliver()
    site.stop()
    site.restore_machine(tmp_path, connects=False)
    site.keep("new", 1)
    site.back_up(tmp_path / "while it runs")
    site.connect()
    assert site.courier.next()
    site.courier.save()
    shutil.copy(site.folder / "progress", tmp_path / "while it runs" / "progress")
    site.stop()
    site.restore(tmp_path / "while it runs")
    site.deliver()
    assert site.values == [*words("old", 1), *words("life", 1), *words("new", 1)]
    assert len(set(site.identities)) == 3


@pytest.mark.parametrize("in_place", [True, False])
def test_how_much_a_restored_folder_lacks_is_known(site, tmp_path, caplog, in_place):
    site.keep("old", 3)
    site.stop()
    site.back_up(tmp_path / "backup")
    site.start()
    site.keep("life", 100)
    site.stop()
    with caplog.at_level(logging.WARNING):
        site.restore(tmp_path / "backup", in_place=in_place)
    assert site.spool.life.missing == 100
    assert "100 messages" in caplog.text


def test_a_folder_that_was_put_in_place_of_another_is_another_life(site, tmp_path):
    """Also where as many messages are in it."""
    site.keep("old", 3)
    epoch = site.spool.epoch
    site.back_up(tmp_path / "backup")
    site.stop()
    (tmp_path / "lines").rename(tmp_path / "away")
    (tmp_path / "backup").rename(tmp_path / "lines")
    site.start()
    assert (site.spool.epoch > epoch, site.spool.life.missing) == (True, 0)


def test_a_kill_and_a_start_are_one_life(site):
    site.keep("a", 3)
    epoch = site.spool.epoch
    site.stop()
    site.start()
    assert site.spool.epoch == epoch
    site.keep("b", 3)
    site.deliver()
    assert len({epoch for epoch, _ in site.identities}) == 1
    assert site.spool.life.missing == 0


@pytest.mark.parametrize("what", ["another machine", "another boot"])
def test_another_machine_or_boot_is_another_life_and_what_waits_keeps_its_name(
    site, what, monkeypatch, tmp_path_factory
):
    site.keep("before", 3)
    before = site.spool.epoch
    site.stop()
    if what == "another machine":
        monkeypatch.setattr(witness, "PLACE", tmp_path_factory.mktemp("machine"))
    else:
        monkeypatch.setattr(witness, "boot_id", lambda: b"another")
    site.start()
    assert site.spool.epoch > before
    site.keep("after", 2)
    site.deliver()
    assert [epoch == b"%d" % before for epoch, _ in site.identities] == [True] * 3 + [False] * 2
    assert [number for _, number in site.identities] == [b"1", b"2", b"3", b"4", b"5"]


def test_a_machine_that_tells_of_no_boot_begins_a_life_with_each_start(site, monkeypatch):
    monkeypatch.setattr(witness, "boot_id", lambda: b"")
    site.keep("a", 1)
    first = site.spool.epoch
    site.stop()
    site.start()
    assert site.spool.epoch > first


def in_the_past(site: Site, folder: Path, then: int) -> None:
    """A machine whose memory was put back too: it goes on and knows of nothing."""
    site.stop()
    site.restore(folder, connects=False)
    site.spool._ledger.epoch = then  # noqa: SLF001 - as nobody can do from outside
    site.spool.life.missing = 0


def test_a_number_that_another_life_has_used_is_not_believed(site, tmp_path, caplog):
    site.keep("old", 3)
    site.deliver()
    site.back_up(tmp_path / "backup")
    epoch = site.spool.epoch
    site.keep("life", 100)
    site.deliver()
    in_the_past(site, tmp_path / "backup", epoch)
    site.keep("new", 50)
    with caplog.at_level(logging.ERROR):
        site.connect()
        site.deliver()
    assert site.values[103:] == words("new", 50)
    assert len(set(site.identities)) == 153
    assert caplog.text.count("another life") == 1

    # Whatever was sent under its new name is known by it, also after a kill.
    site.keep("newer", 1)
    site.stop()
    site.start()
    site.deliver()
    assert len(site.values) == 154
    assert len(set(site.identities)) == 154


def test_a_number_at_the_broker_that_was_never_given_here_begins_a_life(site, tmp_path):
    site.keep("old", 3)
    site.deliver(2)
    site.back_up(tmp_path / "backup")
    epoch = site.spool.epoch
    site.deliver()
    site.keep("life", 5)
    site.deliver()
    in_the_past(site, tmp_path / "backup", epoch)
    site.connect()
    site.deliver()
    assert len(site.values) == 8, "the third is there already"
    site.keep("new", 5)
    site.deliver()
    assert len(set(site.identities)) == 13


def test_an_epoch_grows_and_has_chance_in_it_and_fits_a_signed_integer():
    assert new_epoch(1_800_000_000, 5) == (1_800_000_000 << 31) + 5
    assert new_epoch(0, 1) != new_epoch(0, 2)
    # Two lives of one backup, on a machine whose clock begins in 1970.
    before = new_epoch(1_800_000_000, 5)
    assert before < new_epoch(0, 7, before) != new_epoch(0, 8, before) > before
    assert 0 <= new_epoch(1 << 40, 1 << 40) < 1 << 63


OTHERS = ["restart", "back up", "restore", "restore in place", "clone", "reboot"]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.integers(1, 4)),
        st.tuples(st.just("deliver"), st.integers(1, 6)),
        st.tuples(st.sampled_from(OTHERS), st.just(0)),
    ),
    max_size=25,
)


@pytest.mark.generated
@settings(max_examples=20)
@given(steps=steps)
def test_no_two_messages_have_one_identity_in_any_sequence_of_lives(steps):
    with TemporaryDirectory() as text, pytest.MonkeyPatch.context() as patch:
        home = Path(text)
        site, backup, made, boots = Site(home / "lines"), home / "backup", 0, 0
        # By identity: the one message that has it.
        named: At = {}
        clones = 0
        for what, count in steps:
            if what == "keep":
                site.keep(f"{made}:", count)
                made += 1
            elif what == "deliver":
                site.deliver(count)
            elif what == "back up":
                shutil.rmtree(backup, ignore_errors=True)
                site.back_up(backup)
            elif what == "clone":
                clones += 1
                broker = site.broker
                site.back_up(home / f"clone-{clones}")
                site.stop()
                site = Site.__new__(Site)
                site.folder, site.broker = home / f"clone-{clones}", broker
                site.start()
            else:
                site.stop()
                if what == "reboot":
                    boots += 1
                    patch.setattr(witness, "boot_id", lambda boots=boots: b"boot %d" % boots)
                if what.startswith("restore") and backup.exists():
                    site.restore(backup, in_place=what.endswith("in place"))
                else:
                    site.start()
            for headers, value in site.broker:
                found = dict(headers)
                name = (found["millrace-epoch"], found["millrace-seq"])
                assert named.setdefault(name, value) == value
        site.deliver()
        # What is in the spool is at the broker; and nothing that was kept and not taken away by a
        # restore is missing, as each message has other words.
        reader = Reader(site.spool, 0)
        while records := reader.read():
            assert {one.draft.value for one in records} <= set(site.values)
        reader.close()
        site.stop()
