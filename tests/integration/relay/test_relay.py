"""A relay at a real broker: each record once and whole, whatever dies, whenever it dies."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from millrace.kafka.core.coordinates import Part
from millrace.kafka.io.header_bytes import produce
from millrace.provisioning.core.site_rights import Topic, Wanted
from millrace.relay.core.positions import Mark
from millrace.relay.core.relay_plan import Cause
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.loss import accept_loss
from millrace.relay.io.read_positions import read_positions
from millrace.relay.io.relay_run import Relay
from millrace.relay.io.target import Target
from millrace.sites.core.spec import SiteSpec
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.relay_child import STEPS
from tests.integration.stands.edge.relays import Load, Record, RelayBed, read_all
from tests.support import free_ports, wait_until

NewBed = Callable[..., RelayBed]


@pytest.fixture
def new_bed(site: RunningSite, tmp_path: Path) -> Iterator[NewBed]:
    """A relay of one topic, from the broker of all tests to itself under another name."""
    made: list[RelayBed] = []

    def make(topic: str, *more: str, partitions: int = 3) -> RelayBed:
        site.add_topic(topic, partitions)
        spec = RelaySpec(name=topic, sites=("plant-t",), topics=(topic, *more), to="centre")
        bed = RelayBed(spec, (site,), site, tmp_path)
        bed.provision()
        made.append(bed)
        return bed

    yield make
    for bed in made:
        bed.kill()


def test_each_record_once_though_the_relay_dies_in_every_step(
    site: RunningSite, new_bed: NewBed
) -> None:
    bed = new_bed("each-step")
    with Load(site, "each-step"):
        for step in STEPS:
            bed.start(step, after_ms=4)
            assert bed.await_end() == -signal.SIGKILL, bed.log.read_text()
        bed.start()
        wait_until(lambda: bed.lag is not None and bed.lag < 1_000, 30, "nearly all brought")
    bed.await_all("each-step")
    assert bed.assert_exactly_once("each-step") > 5_000


def test_whoever_starts_shuts_out_who_ran_before(site: RunningSite, new_bed: NewBed) -> None:
    bed = new_bed("two-at-once")
    with Load(site, "two-at-once"):
        bed.start()
        first = bed.process
        assert first
        bed.await_messages(1_000)
        bed.start()
        assert first.wait(30) == 1
        assert "LostTransactionError" in bed.log.read_text()
    bed.await_all("two-at-once")
    assert bed.assert_exactly_once("two-at-once") > 1_000


def test_partitions_and_topics_that_appear_are_taken_up(site: RunningSite, new_bed: NewBed) -> None:
    bed = new_bed("relay-grows", "relay-appears", partitions=1)
    bed.start()
    site.produce("app", "relay-grows", [(b"k", b"before")])
    bed.await_all("relay-grows")
    assert bed.beat
    assert "there is no topic 'relay-appears'" in bed.beat.sites[0].trouble

    site.add_topic("relay-grows", 4)
    with Load(site, "relay-grows", partitions=4):
        site.add_topic("relay-appears", 2)
        site.produce("app", "relay-appears", [(b"k", b"%d" % number) for number in range(100)])
        wait_until(lambda: site.count("app", "relay-appears") >= 100)
    bed.await_all("relay-grows")
    bed.await_all("relay-appears")
    assert bed.assert_exactly_once("relay-grows") > 1
    assert bed.assert_exactly_once("relay-appears") == 100
    assert set(bed.brought("relay-grows")) == {0, 1, 2, 3}


def test_what_retention_took_halts_its_partition_and_no_other(
    site: RunningSite, new_bed: NewBed
) -> None:
    bed = new_bed("overtaken", partitions=2)
    fill(site, "overtaken", (0, 1), range(100))
    bed.start()
    bed.await_all("overtaken")
    bed.stop()
    fill(site, "overtaken", (0, 1), range(100, 300))
    delete_before(site, "overtaken", 0, 250)
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.halts, 30, "halted")
    assert bed.beat
    (halt,) = bed.beat.halts
    assert (halt.cause, halt.part) == (Cause.OVERTAKEN, Part("plant-t", "overtaken", 0))
    assert str(halt.lost) == "[100..249]"
    wait_until(lambda: numbers(bed, "overtaken", 1) == list(range(300)), 30, "the other goes on")
    assert numbers(bed, "overtaken", 0) == list(range(100))

    # A person agrees to the loss: that ends the relay that runs, and the next goes on behind it.
    (source,), target = [bed.door(one) for one in bed.sources], bed.door(bed.target)
    assert accept_loss(bed.spec, source, target, halt.part, None) == 250
    fill(site, "overtaken", (1,), range(300, 301))
    assert bed.await_end() == 1
    bed.start()
    behind = [*range(100), *range(250, 300)]
    wait_until(lambda: numbers(bed, "overtaken", 0) == behind, 30, "gone on behind the loss")


def test_what_is_overtaken_while_the_relay_has_brought_nothing_yet_is_told_too(
    site: RunningSite, new_bed: NewBed
) -> None:
    """The start of a partition is written down before its first record."""
    bed = new_bed("from-the-start", partitions=1)
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.transactions, 30, "the start written down")
    bed.kill()
    fill(site, "from-the-start", (0,), range(10))
    delete_before(site, "from-the-start", 0, 7)
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.halts, 30, "halted")
    assert bed.beat
    assert str(bed.beat.halts[0].lost) == "[0..6]"


@pytest.mark.parametrize("count", [3, 25], ids=["shorter than before", "longer than before"])
def test_a_topic_that_was_made_anew_is_brought_from_its_beginning(
    site: RunningSite, new_bed: NewBed, count: int
) -> None:
    topic = f"anew-{count}"
    bed = new_bed(topic, partitions=2)
    fill(site, topic, (0, 1), range(10))
    bed.start()
    bed.await_all(topic)
    bed.stop()
    make_anew(site, topic, 1)
    fill(site, topic, (0,), range(100, 100 + count))
    bed.start()
    both = [*range(10), *range(100, 100 + count)]
    wait_until(lambda: numbers(bed, topic, 0) == both, 30, "the new one brought too")
    assert numbers(bed, topic, 1) == list(range(10))
    assert bed.beat
    (renewal,) = bed.beat.renewals
    assert "brought up to these offsets of its partitions: 0: 10, 1: 10;" in renewal.text
    assert len({record.headers[-1][1].partition(b"@")[2] for record in at_target(bed, topic)}) == 2

    # Once: it is no news to the next, and nothing comes again.
    bed.stop()
    bed.start()
    fill(site, topic, (0,), range(900, 901))
    wait_until(lambda: numbers(bed, topic, 0) == [*both, 900], 30, "gone on in the new one")
    assert bed.log.read_text().count("made anew") == 1


def test_a_topic_is_made_anew_under_a_relay_that_runs(site: RunningSite, new_bed: NewBed) -> None:
    """And has more records than the old one had, before the relay looks again."""
    bed = new_bed("relayed-anew-beside", partitions=1)
    bed.start()
    wanted: list[int] = []
    for turn in range(3):
        values = range(1_000 * turn, 1_000 * turn + 200 * (turn + 1))
        fill(site, "relayed-anew-beside", (0,), values)
        wanted += values
        await_numbers(bed, "relayed-anew-beside", wanted)
        make_anew(site, "relayed-anew-beside", 1)
    assert bed.beat
    assert not bed.beat.halts


def test_a_topic_that_was_made_anew_at_the_target_halts_what_was_brought_to_the_old(
    site: RunningSite, new_bed: NewBed
) -> None:
    bed = new_bed("target-anew", partitions=1)
    fill(site, "target-anew", (0,), range(10))
    bed.start()
    bed.await_all("target-anew")
    bed.stop()
    admin = AdminClient(site.admin)
    admin.delete_topics(["plant-t.target-anew"])["plant-t.target-anew"].result(15)
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.halts, 30, "halted")
    assert bed.beat
    (halt,) = bed.beat.halts
    assert halt.cause is Cause.OTHER_TARGET
    (source,), target = [bed.door(one) for one in bed.sources], bed.door(bed.target)
    assert accept_loss(bed.spec, source, target, halt.part, None) == 0
    bed.kill()
    bed.start()
    wait_until(lambda: numbers(bed, "target-anew", 0) == list(range(10)), 30, "brought again")


def test_a_site_that_was_restored_to_an_older_state_halts_though_it_has_grown_since(
    site: RunningSite, new_bed: NewBed
) -> None:
    """As if other records had been brought from the same offsets of the same topic."""
    bed = new_bed("restored", partitions=1)
    fill(site, "restored", (0,), range(10))
    bed.start()
    bed.await_all("restored")
    bed.stop()
    stored = read_positions(site.spec, site.settings("relay"), bed.spec.positions_topic)
    ((part, position),) = stored.items()
    assert (position.offset, position.last and position.last.offset) == (10, 9)
    target = Target(bed.spec, site.spec, site.settings("relay"), lambda _: None)
    target.open()
    target.begin()
    target.note({part: position._replace(last=Mark(9, 1))})
    target.commit()
    fill(site, "restored", (0,), range(10, 20))
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.halts, 30, "halted")
    assert bed.beat
    assert (bed.beat.halts[0].cause, bed.beat.halts[0].offset) == (Cause.OTHER_LOG, 9)
    assert numbers(bed, "restored", 0) == list(range(10))


def test_a_record_that_the_target_refuses_halts_its_partition_and_no_other(
    site: RunningSite, new_bed: NewBed
) -> None:
    bed = new_bed("refused", partitions=2)
    small = Topic(name="plant-t.refused", partitions=2, settings={"max.message.bytes": "20000"})
    site.provision(Wanted(topics=(small,)))
    fill(site, "refused", (0, 1), range(100))
    producer = Producer(site.settings("app"))
    producer.produce("refused", random.Random(1).randbytes(100_000), b"large", partition=0)
    assert producer.flush(15) == 0
    fill(site, "refused", (0, 1), range(100, 200))
    bed.start()
    wait_until(lambda: bed.beat and bed.beat.halts, 30, "halted")
    assert bed.beat
    (halt,) = bed.beat.halts
    assert (halt.cause, halt.part.partition, halt.offset) == (Cause.REFUSED, 0, 100)
    wait_until(lambda: numbers(bed, "refused", 1) == list(range(200)), 30, "the other goes on")
    assert numbers(bed, "refused", 0) == list(range(100))

    # Once the target takes it, all of it comes.
    bed.stop()
    allow_large(site, "plant-t.refused")
    bed.start()
    bed.await_all("refused")
    assert bed.assert_exactly_once("refused") == 401


def test_aborted_records_of_the_source_are_not_brought(site: RunningSite, new_bed: NewBed) -> None:
    bed = new_bed("transacted", partitions=1)
    producer = Producer({**site.settings("app"), "transactional.id": "app-transacted"})
    producer.init_transactions(15)
    for number in range(6):
        producer.begin_transaction()
        producer.produce("transacted", b"%d" % number, partition=0)
        if number % 2:
            producer.abort_transaction(15)
        else:
            producer.commit_transaction(15)
    bed.start()
    bed.await_all("transacted")
    assert numbers(bed, "transacted", 0) == [0, 2, 4]
    wait_until(lambda: bed.lag == 0, 10, "at the end, though markers follow the last record")


def test_a_site_that_is_away_delays_no_other(site: RunningSite, new_bed: NewBed) -> None:
    away = SiteSpec(name="plant-away", bootstrap=f"127.0.0.1:{free_ports(3)}")
    bed = new_bed("one-away", partitions=1)
    bed.spec = bed.spec.model_copy(update={"sites": ("plant-away", "plant-t")})
    bed.sources = (replace(site, spec=away), site)
    bed.start()
    wait_until(lambda: bed.beat and len(bed.beat.sites) == 2, 30, "begun")
    fill(site, "one-away", (0,), range(100))
    wait_until(lambda: numbers(bed, "one-away", 0, site) == list(range(100)), 10, "brought")
    wait_until(lambda: bed.beat and bed.beat.sites[0].trouble, 30, "told of")
    assert bed.beat
    assert "no answer from" in bed.beat.sites[0].trouble
    assert bed.beat.sites[1].trouble == ""


def test_a_password_that_was_changed_is_taken_up(site: RunningSite, new_bed: NewBed) -> None:
    bed = new_bed("changed-password", partitions=1)
    fill(site, "changed-password", (0,), range(10))
    right = {"sasl.username": "relay", "sasl.password": site.password_of("relay")}
    old = {**site.settings("relay"), "sasl.password": "of yesterday"}
    stop = threading.Event()
    relay = Relay(
        bed.spec,
        [Door(site.spec, old, login=lambda: right)],
        bed.door(site),
        stop=stop,
        publish=lambda _: None,
        on_halt=lambda _: None,
        on_renewal=lambda _: None,
        say=lambda _: None,
    )
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(relay.run)
        try:
            brought = list(range(10))
            wait_until(lambda: numbers(bed, "changed-password", 0) == brought, 30, "brought")
        finally:
            stop.set()
        running.result(30)


def numbers(
    bed: RelayBed, topic: str, partition: int, site: RunningSite | None = None
) -> list[int]:
    records = bed.brought(topic, site).get(partition, [])
    return [int(record.value or b"-1") for record in records]


def fill(site: RunningSite, topic: str, partitions: tuple[int, ...], values: range) -> None:
    producer = Producer(site.settings("app"))
    for number in values:
        for partition in partitions:
            producer.produce(topic, b"%d" % number, b"k", partition=partition)
    assert producer.flush(15) == 0


def await_numbers(bed: RelayBed, topic: str, wanted: list[int]) -> None:
    wait_until(lambda: numbers(bed, topic, 0) == wanted, 60, f"{len(wanted)} brought")


def at_target(bed: RelayBed, topic: str) -> list[Record]:
    name = bed.spec.target("plant-t", topic)
    found = read_all(bed.target.settings("app"), name)
    return [record for records in found.values() for record in records]


def make_anew(site: RunningSite, topic: str, partitions: int) -> None:
    admin = AdminClient(site.admin)
    admin.delete_topics([topic])[topic].result(15)

    def is_made() -> bool:
        try:
            admin.create_topics([NewTopic(topic, partitions)])[topic].result(15)
        except KafkaException:  # its name is not free yet
            return False
        return True

    wait_until(is_made)


def delete_before(site: RunningSite, topic: str, partition: int, offset: int) -> None:
    """What retention does, at once."""
    admin, place = AdminClient(site.admin), TopicPartition(topic, partition, offset)
    admin.delete_records([place])[place].result(15)


def allow_large(site: RunningSite, topic: str) -> None:
    larger = Topic(name=topic, partitions=2, settings={"max.message.bytes": "1000000"})
    site.provision(Wanted(topics=(larger,)))


def test_a_header_name_that_is_no_utf_8_comes_as_it_is(site: RunningSite, new_bed: NewBed) -> None:
    """Kafka's header names are bytes; clients in C send what they like."""
    bed = new_bed("odd-names", partitions=2)
    fill(site, "odd-names", (0, 1), range(50))
    odd = [(b"n\xff\xfe\x80", b"1"), (b"plain", None), (b"\xc3\x28", b""), (b"n\xff\xfe\x80", b"2")]
    producer = Producer(site.settings("app"))
    for number in range(50, 60):
        produce(producer, "odd-names", b"%d" % number, None, 0, 1_700_000_000_000, odd)
    assert producer.flush(15) == 0
    assert on_disk(site, "odd-names-0", b"n\xff\xfe\x80")
    fill(site, "odd-names", (0, 1), range(60, 100))
    bed.start()
    wait_until(lambda: numbers(bed, "odd-names", 0) == list(range(100)), 30, "all brought")
    assert bed.assert_exactly_once("odd-names") == 190
    assert bed.beat
    assert not bed.beat.halts
    brought = {record.offset: record for record in bed.brought("odd-names")[0]}
    assert [brought[place].headers for place in (49, 50, 59, 60)] == [[], odd, odd, []]


def on_disk(site: RunningSite, folder: str, text: bytes) -> bool:
    (log,) = site.layout.home.rglob(f"{folder}/00000000000000000000.log")
    return text in log.read_bytes()
