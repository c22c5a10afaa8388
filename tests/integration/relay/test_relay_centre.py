"""A relay to a cluster of three: brokers die, the site dies, links are cut, a broker is added."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.relay.core.spec import RelaySpec
from millrace.stack.io.brokers.move_partitions import Rebalance
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.clusters import RunningCluster
from tests.integration.stands.edge.relays import Load, RelayBed
from tests.support import wait_until

NewBed = Callable[[str], RelayBed]
# A transaction that is cut off for longer is the coordinator's to end.
_CUT_S = 8.0
_HASTY = {"transaction.timeout.ms": 5_000}


@pytest.fixture(scope="module")
def centre(site: RunningSite) -> Iterator[RunningCluster]:
    """One broker could join the three."""
    cluster = RunningCluster.prepare(site.layout, "centre", brokers=3, room_for=4)
    try:
        cluster.start_all()
        yield cluster
    finally:
        cluster.clean_up()


@pytest.fixture
def new_bed(site: RunningSite, centre: RunningCluster, tmp_path: Path) -> Iterator[NewBed]:
    made: list[RelayBed] = []

    def make(topic: str) -> RelayBed:
        site.add_topic(topic, 3)
        spec = RelaySpec(name=topic, sites=("plant-t",), topics=(topic,), to="centre")
        bed = RelayBed(spec, (site,), centre, tmp_path)
        bed.provision()
        made.append(bed)
        return bed

    yield make
    for bed in made:
        bed.kill()


def brought_after(bed: RelayBed) -> float:
    """Seconds until records come again."""
    began = time.monotonic()
    assert bed.beat
    before = bed.beat.messages
    wait_until(lambda: bed.beat and bed.beat.messages not in (before, 0), 60, "records come again")
    return time.monotonic() - began


def test_a_lost_broker_of_the_centre_costs_seconds_and_no_record(
    site: RunningSite,
    centre: RunningCluster,
    new_bed: NewBed,
    record_property: Callable[[str, object], None],
) -> None:
    bed = new_bed("lost-broker")
    with Load(site, "lost-broker"), bed.supervised():
        bed.await_messages(1_000)
        lost = centre.leader("plant-t.lost-broker", 0)
        centre.kill_node(lost)
        record_property("recovery_s", round(brought_after(bed), 1))
        centre.start_node(lost)
        wait_until(lambda: lost in centre.live(), 60, "the broker is back")
        bed.await_messages(bed.beat.messages + 1_000)
    with bed.supervised():
        bed.await_all("lost-broker")
    assert bed.assert_exactly_once("lost-broker") > 5_000


@pytest.mark.long
def test_a_site_that_dies_and_comes_back_goes_on_where_it_was(
    site: RunningSite, new_bed: NewBed
) -> None:
    bed = new_bed("dead-site")
    with Load(site, "dead-site"), bed.supervised():
        bed.await_messages(1_000)
        site.stop(signal.SIGKILL)
        wait_until(lambda: bed.beat and bed.beat.sites[0].trouble, 30, "told of")
        site.start()
        brought_after(bed)
    with bed.supervised():
        bed.await_all("dead-site")
    assert bed.starts <= 2, "a site that is away is no reason to end"
    assert bed.assert_exactly_once("dead-site") > 3_000


def test_a_link_that_was_cut_for_longer_than_a_transaction_may_last(
    site: RunningSite, centre: RunningCluster, new_bed: NewBed
) -> None:
    """The coordinator ends what was open; whoever had opened it has to begin anew."""
    bed = new_bed("cut-link")
    bed.hasty = _HASTY
    with Load(site, "cut-link"), bed.supervised():
        bed.await_messages(1_000)
        centre.cut()
        wait_until(lambda: bed.beat and bed.beat.trouble, 30, "told of")
        cut_at = time.monotonic()
        wait_until(lambda: time.monotonic() - cut_at > _CUT_S)
        centre.mend()
        brought_after(bed)
    with bed.supervised():
        bed.await_all("cut-link")
    assert bed.assert_exactly_once("cut-link") > 5_000


@pytest.mark.long
def test_a_broker_is_added_and_takes_its_share_while_data_flow(
    site: RunningSite, centre: RunningCluster, new_bed: NewBed
) -> None:
    bed = new_bed("moved")
    with Load(site, "moved"), bed.supervised():
        bed.await_messages(1_000)
        node = centre.add_node()
        rebalance = Rebalance(centre.spec, centre.layout)
        moves = rebalance.plan()
        assert any(node in replicas for replicas in moves.values())
        rebalance.execute(moves, 50_000_000, print, 60)
        assert rebalance.plan() == {}
        assert bed.beat
        bed.await_messages(bed.beat.messages + 1_000)
    with bed.supervised():
        bed.await_all("moved")
    assert bed.starts <= 2, "moving partitions is no reason to end"
    assert bed.assert_exactly_once("moved") > 3_000
