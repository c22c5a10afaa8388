"""Rules beside a spool: what is kept is judged at once, and told once, whatever happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.gateway.routes.io.fields import field_reader, fields_reader
from millrace.gateway.rules.core.rule_spec import RuleSpec, RuleState
from millrace.gateway.rules.io.event_log import EventLog
from millrace.gateway.rules.io.rule_at_work import RuleAtWork
from millrace.gateway.rules.io.rule_follower import RuleFollower
from millrace.gateway.spec.core.input_specs import SpoolSpec
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader
from tests.support import wait_until

HOT = RuleSpec(
    name="hot", sensor="$.id", value="$.v", time="$.at", above=80, hysteresis=5, topic="events"
)
ROOM = SpoolSpec().bounds
LITTLE = SpoolSpec(size="1 MB", segment="512 KB").bounds


def sample(value: object, sensor: str = "s", at: int = 0) -> bytes:
    return json.dumps({"id": sensor, "v": value, "at": at}).encode()


def record(message: bytes) -> Record:
    return Record(0, 0, 1, 7, Draft(b"lines", None, message))


class Site:
    """An input's spool and a rule beside it; as often as it is started."""

    def __init__(self, folder: Path, events: SpoolBounds = ROOM) -> None:
        self.folder = folder
        self.samples = Spool(folder / "samples", ROOM)
        self.events = Spool(folder / "events", events, waits_for_missing=False)
        self.told: list[bytes] = []
        self.start()

    def start(self) -> None:
        log = EventLog(self.events, lambda: None)
        self.follower = RuleFollower(
            "lines", self.samples, [HOT], self.folder / "rules.json", log, self._on_told
        )
        self.follower.start()

    def _on_told(self, _: RuleSpec, event: bytes) -> None:
        self.told.append(event)

    def keep(self, *values: int) -> None:
        self.follower.on_kept(self.keep_unseen(*values))

    def keep_unseen(self, *values: int) -> list[Entry]:
        return self.samples.keep([Draft(b"lines", b"s", sample(value)) for value in values])

    def wait_until_live(self) -> None:
        wait_until(lambda: self.follower.is_live)

    @property
    def changes(self) -> list[str]:
        reader, found = Reader(self.events, 0), []
        while records := reader.read():
            found += [json.loads(one.draft.value)["change"] for one in records]
        reader.close()
        return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.follower.end()


def test_what_is_kept_is_told_before_the_next_group(site):
    site.wait_until_live()
    site.keep(70, 90)
    assert site.changes == ["began"]
    site.keep(70, 90, 70)
    assert site.changes == ["began", "ended", "began", "ended"]
    assert len(site.told) == 4


def test_what_was_kept_while_nobody_judged_is_told_after_the_start(site):
    site.follower.end()
    site.keep_unseen(90, 70)
    assert site.changes == []
    site.start()
    wait_until(lambda: site.changes == ["began", "ended"])
    site.wait_until_live()
    site.keep(90)
    assert site.changes == ["began", "ended", "began"]


def test_an_event_that_was_told_is_not_told_again(site):
    """As after a kill: the state is older than what was told."""
    site.wait_until_live()
    site.keep(90, 70, 90)
    site.follower.end()
    (site.folder / "rules.json").unlink(missing_ok=True)
    site.start()
    site.wait_until_live()
    assert site.changes == ["began", "ended", "began"]
    assert len(site.told) == 3


def test_a_state_that_is_newer_than_the_spool_stops_no_rule(site):
    """As of a folder that was copied while the gateway ran, and put back."""
    site.wait_until_live()
    site.keep(90)
    file = site.folder / "rules.json"
    wait_until(lambda: file.exists() and '"next_index":1' in file.read_text())
    site.follower.end()
    file.write_text(file.read_text().replace('"next_index":1', '"next_index":1000'))
    site.start()
    site.wait_until_live()
    site.keep(70)
    assert site.changes == ["began", "ended"]


def test_without_room_for_events_samples_are_taken_and_events_wait(tmp_path):
    site = Site(tmp_path, LITTLE)
    site.wait_until_live()
    turns = 0
    while site.follower.is_live:
        site.keep(*[90, 70] * 100)
        turns += 1
    site.keep(*[90, 70] * 100)
    assert site.samples.next_index == (turns + 1) * 200

    def has_told_all() -> bool:
        site.events.trim(site.events.next_index)
        return site.events.next_index == (turns + 1) * 200

    wait_until(has_told_all)
    wait_until(lambda: len(site.told) == (turns + 1) * 200)
    site.wait_until_live()
    site.follower.end()


@pytest.mark.parametrize(
    "message",
    [
        b"no json",
        b'{"id":"s"}',
        b'{"v":99}',
        sample("hot"),
        sample(None),
        b'{"id":"s","at":0,"v":' + b"9" * 400 + b"}",
        sample(90, "s" * 70_000),
    ],
    ids=lambda message: message[:30],
)
def test_what_is_no_sample_tells_nothing_and_stops_nothing(message):
    rule = RuleAtWork(HOT, RuleState(), "lines")
    assert rule.on_record(record(message)) is None
    assert rule.on_record(record(sample(90))) is not None


@pytest.mark.parametrize(
    "message",
    [b'{"a":1,"b":{"c":"x"}}', b'{"a":"y","b":"z"}', b'{"a":[1]}', b"[]", b"{", b'{"a":"\xff"}'],
)
@pytest.mark.parametrize("paths", [("$.a", "$.b"), ("$.a", "$.a"), ("$.a", "$.b.c")])
def test_several_fields_are_read_as_each_by_itself(paths, message):
    assert fields_reader(paths)(message) == tuple(field_reader(one)(message) for one in paths)
