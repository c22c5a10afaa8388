"""A relay from its files and the passwords kept here, as `millrace relay` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from millrace.base.errors import MillraceError
from millrace.incidents.core.event import read_event
from millrace.incidents.io.outbox import Outbox
from millrace.kafka.core.coordinates import Part
from millrace.platform.core.platform import Platform
from millrace.relay.core.beat import RelayBeat
from millrace.relay.io.beat_files import read_relay_beat
from millrace.relay.io.local_relay import RelayPlan, go_on_behind, provision_relay, run_relay
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.user_names import SITE_USERS
from tests.integration.conftest import RunningSite
from tests.integration.relay.test_relay import delete_before, fill
from tests.integration.stands.edge.relays import read_all
from tests.support import wait_until

NAME = "by-file"
RELAY = "name: by-file\nsites: all\ntopics: [{topics}]\nto: centre\n"


@dataclass
class Desk:
    """Files of its own, over the papers and passwords of the broker that runs.

    The cluster is the site under another name.
    """

    site: RunningSite
    layout: Platform
    said: list[str] = field(default_factory=list)

    def write(self, topics: str) -> None:
        (self.layout.relays / f"{NAME}.yaml").write_text(RELAY.format(topics=topics))

    @property
    def plan(self) -> RelayPlan:
        return RelayPlan.load(self.layout, NAME)

    @property
    def beat(self) -> RelayBeat | None:
        return read_relay_beat(self.layout, NAME)

    @contextmanager
    def running(self) -> Iterator[Future[None]]:
        ended = Event()
        with ThreadPoolExecutor(1) as pool:
            relay = pool.submit(run_relay, self.layout, NAME, ended, self.said.append)
            try:
                yield relay
            finally:
                ended.set()

    def count(self, topic: str) -> int:
        found = read_all(self.site.settings("app"), f"plant-t.{topic}")
        return sum(map(len, found.values()))

    def has(self, words: str) -> bool:
        return any(words in line for line in self.said)


@pytest.fixture
def desk(site: RunningSite, tmp_path: Path) -> Desk:
    layout = Platform(tmp_path, events_site="plant-t")
    keys = layout.keys("plant-t").parent
    for folder in (layout.sites, layout.clusters, layout.relays, layout.pki, keys):
        folder.mkdir(parents=True)
    layout.ca.symlink_to(site.layout.ca)
    for name in ("plant-t", "centre"):
        layout.keys(name).symlink_to(site.layout.keys("plant-t"))
        for user in SITE_USERS:
            ensure_user(site.layout, "plant-t", user)
            layout.secrets_of(user).mkdir(parents=True, exist_ok=True)
            layout.user_secret(name, user).symlink_to(site.layout.user_secret("plant-t", user))
    bootstrap = f"bootstrap: {site.spec.bootstrap}\n"
    layout.site("plant-t").write_text(f"name: plant-t\n{bootstrap}")
    (layout.clusters / "centre.yaml").write_text(f"name: centre\n{bootstrap}")
    return Desk(site, layout)


def test_files_that_change_are_taken_up_and_mistakes_in_them_change_nothing(desk: Desk) -> None:
    for topic in ("filed-1", "filed-2"):
        desk.site.add_topic(topic, 1)
        fill(desk.site, topic, (0,), range(10))
    desk.write("filed-1, filed-2")
    assert any("right: relay may read topic filed-1" in one for one in provisioned(desk))
    assert provisioned(desk) == []
    desk.write("filed-1")
    with desk.running():
        wait_until(lambda: desk.beat and desk.beat.messages == 10, 30, "brought")
        (desk.layout.relays / f"{NAME}.yaml").write_text("name: by-file\n")
        wait_until(lambda: desk.has("goes on as before"), 10, "the mistake told")
        fill(desk.site, "filed-1", (0,), range(10))
        wait_until(lambda: desk.count("filed-1") == 20, 10, "still at work")
        desk.write("filed-1, filed-2")
        wait_until(lambda: desk.has("its files changed"), 10, "taken up")
        wait_until(lambda: desk.count("filed-2") == 10, 20, "the new topic brought")
    assert desk.count("filed-1") == 20


def test_a_halt_is_told_once_and_gone_on_behind_when_a_person_agrees(desk: Desk) -> None:
    desk.site.add_topic("halted", 1)
    desk.write("halted")
    provisioned(desk)
    with desk.running():
        wait_until(lambda: desk.beat and desk.beat.transactions, 30, "the start written down")
    fill(desk.site, "halted", (0,), range(10))
    delete_before(desk.site, "halted", 0, 5)
    outbox = Outbox(desk.layout.outbox)
    for _ in range(2):
        with desk.running():
            wait_until(lambda: desk.beat and desk.beat.halts, 30, "halted")
    (event,) = (read_event(outbox.read(one) or "") for one in outbox.ids())
    assert event
    assert (event.kind, event.pipeline, event.site) == ("relay halted", NAME, "plant-t")
    assert "[0..4], 5 offsets" in event.text
    assert f"millrace relay {NAME} --accept-loss plant-t/halted/0" in event.text

    with pytest.raises(MillraceError, match="its topics halted"):
        go_on_behind(desk.layout, NAME, Part("plant-t", "other", 0), None)
    assert go_on_behind(desk.layout, NAME, Part("plant-t", "halted", 0), None) == 5
    with desk.running():
        wait_until(lambda: desk.count("halted") == 5, 30, "gone on")


def provisioned(desk: Desk) -> list[str]:
    return provision_relay(desk.layout, desk.plan)
