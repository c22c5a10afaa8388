"""What a relay decides: names, topics, starts, halts, and what it may do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from millrace.jobs.core.heartbeat import PartitionLag
from millrace.kafka.core.coordinates import Part
from millrace.relay.core.beat import RelayBeat, SourceBeat
from millrace.relay.core.positions import Mark, Position, decode, encode
from millrace.relay.core.relay_plan import (
    CallVerdict,
    batch_records,
    judge,
    plan_topics,
    prefetch_kb,
    refused,
)
from millrace.relay.core.relay_references import check_clusters, check_relays
from millrace.relay.core.relay_rights import wanted_at_site, wanted_at_target
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.simulation import Simulator
from millrace.sites.core.spec import LocalBroker, SiteSpec

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PART = Part("plant-a", "t", 2)
A, B = (SiteSpec(name=name, bootstrap=f"{name}:9093") for name in ("plant-a", "plant-b"))
CENTRE = SiteSpec(name="centre", bootstrap="centre:9093")


def relay(name: str = "r", **values: object) -> RelaySpec:
    given = {"sites": "all", "topics": ["t"], "to": "centre"} | values
    return RelaySpec.model_validate({"name": name, **given})


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "plant-a.t"),
        ({"as": "raw-{topic}-of-{site}"}, "raw-t-of-plant-a"),
        ({"as": "{site}"}, "plant-a"),
        ({"as": "{topic}", "sites": ["plant-a"]}, "t"),
        ({"as": "all-in-one", "sites": ["plant-a"]}, "all-in-one"),
    ],
)
def test_a_topic_has_its_own_name_at_the_target(values, name):
    assert relay(**values).target("plant-a", "t") == name


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"as": "{topic}"}, r"lacks \{site\}"),
        ({"as": "{site}", "topics": ["t", "u"]}, r"lacks \{topic\}"),
        ({"as": "{plant}.{topic}"}, r"write \{site\}"),
        ({"as": "{site}/{topic}"}, r"write \{site\}"),
        ({"as": "{site.name}{topic}"}, r"write \{site\}"),
    ],
)
def test_names_that_would_mix_partitions_or_be_none_are_refused(values, problem):
    with pytest.raises(ValidationError, match=problem):
        relay(**values)


@pytest.mark.parametrize(
    ("source", "target", "lines"),
    [
        ({"t": 3}, {}, ["topic plant-a.t: created with 3 partitions"]),
        ({"t": 3}, {"plant-a.t": 3}, []),
        ({"t": 3}, {"plant-a.t": 5}, []),
        ({"t": 3}, {"plant-a.t": 1}, ["topic plant-a.t: grown from 1 to 3 partitions"]),
        ({}, {"plant-b.t": 1}, []),
    ],
    ids=["absent", "equal", "larger", "smaller", "not at the site yet"],
)
def test_the_target_has_room_for_every_partition(source, target, lines):
    assert [str(one) for one in plan_topics(relay(), "plant-a", source, target)] == lines


def test_a_topic_made_at_the_target_keeps_the_sites_time():
    (made,) = plan_topics(relay(), "plant-a", {"t": 1}, {})
    assert made.topic.settings["message.timestamp.type"] == "CreateTime"
    assert made.topic.settings["message.timestamp.after.max.ms"] == str(2**63 - 1)


def test_a_refused_record_is_gone_on_behind():
    halt = refused(PART, 12, "too large")
    assert halt.way_out("r").endswith("--accept-loss plant-a/t/2:13")


@pytest.mark.parametrize(
    ("retriable", "requires_abort", "verdict"),
    [
        (True, False, CallVerdict.CALL_AGAIN),
        (True, True, CallVerdict.CALL_AGAIN),
        (False, True, CallVerdict.ABORT),
        (False, False, CallVerdict.END),
    ],
)
def test_a_failed_call_is_repeated_taken_back_or_the_end(retriable, requires_abort, verdict):
    assert judge(retriable=retriable, requires_abort=requires_abort) is verdict


@pytest.mark.parametrize(
    ("records", "size", "count"),
    [
        (0, 0, 10_000),
        (5, 0, 10_000),
        (10_000, 2_500_000, 10_000),
        (100, 8_388_608, 50),
        (1, 2**30, 1),
    ],
    ids=["none yet", "tombstones", "small", "large", "one of a gigabyte"],
)
def test_so_many_records_are_taken_at_once_as_their_size_allows(records, size, count):
    assert batch_records(records, size) == count


@pytest.mark.parametrize("sites", [1, 3, 64, 500])
def test_all_sites_together_read_64_mb_ahead_and_each_of_them_1_mb_at_least(sites):
    each = prefetch_kb(sites)
    assert each >= 1_024
    assert sites * each <= max(64 << 10, sites << 10)


def test_positions_are_written_as_they_are_read():
    for last in (None, Mark(11, 2**32 - 1)):
        position = Position("id", 12, "other id", last)
        assert decode(*encode(PART, position)) == (PART, position)


def may(user: str, acls) -> set[str]:
    return {str(acl).removeprefix(f"{user} may ") for acl in acls if acl.user == user}


def test_at_a_site_a_relay_reads_its_topics_and_does_nothing_else():
    wanted = wanted_at_site(relay(topics=["t"]))
    assert may("relay", wanted.acls) == {"read topic t", "describe topic t", "describe group relay"}
    assert wanted.topics == ()


def test_at_the_target_a_relay_makes_and_fills_its_own_topics_only():
    wanted = wanted_at_target(relay(), ["plant-a"])
    assert may("relay", wanted.acls) == {
        *(f"{do} topic plant-a.t" for do in ("write", "describe", "create", "alter")),
        *(f"{do} topic relay-offsets-r" for do in ("read", "write", "describe")),
        *(f"{do} transactional id relay-r-{n}" for do in ("write", "describe") for n in range(4)),
        "describe group relay",
    }
    (positions,) = wanted.topics
    assert (positions.name, positions.partitions) == ("relay-offsets-r", 1)
    assert positions.settings["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("relays", "problems"),
    [
        ([relay(sites=["plant-a", "plant-b"])], []),
        ([relay("r"), relay("s", topics=["u"])], []),
        ([relay(to="center")], [(("to",), "did you mean 'centre'")]),
        ([relay(sites=["plant-c"])], [(("sites", 0), "site 'plant-c' does not exist")]),
        (
            [relay("r"), relay("s")],
            [
                (("as",), "'plant-a.t', which takes 't' of 'plant-a' by relay 'r'"),
                (("as",), "'plant-b.t', which takes 't' of 'plant-b' by relay 'r'"),
            ],
        ),
        (
            [relay("r", sites=["plant-a"]), relay("s", sites=["plant-b"], **{"as": "plant-a.t"})],
            [(("as",), "brings 't' of 'plant-b' by relay 's' to 'plant-a.t'")],
        ),
    ],
    ids=["well", "other topics", "no such cluster", "no such site", "both bring all", "same name"],
)
def test_relays_name_what_exists_and_share_no_target(relays, problems):
    found = check_relays(relays, [A, B], [CENTRE])
    assert [problem.path for problem in found] == [path for path, _ in problems]
    assert all(text in one.text for one, (_, text) in zip(found, problems, strict=True))


def test_a_cluster_may_not_be_called_as_a_site_is():
    (problem,) = check_clusters([CENTRE, A], [A, B])
    assert (problem.index, problem.path) == (1, ("name",))


def test_a_cluster_has_no_simulator():
    local = LocalBroker(brokers=3, simulator=Simulator())
    (problem,) = check_clusters([CENTRE.model_copy(update={"local": local})], [A])
    assert problem.path == ("local", "simulator")


def beat(**values: object) -> RelayBeat:
    return RelayBeat.model_validate({"relay": "r", "at": NOW, "began": NOW, **values})


def source(trouble: str = "") -> SourceBeat:
    parts = (PartitionLag(topic="t", partition=0, position=5, end=12),)
    return SourceBeat(site="plant-a", trouble=trouble, partitions=parts)


@pytest.mark.parametrize(
    ("seen", "runs", "age_s", "state"),
    [
        (beat(sites=[source()]), True, 1, "running"),
        (beat(sites=[source()]), False, 1, "down"),
        (beat(sites=[source()]), True, 31, "silent"),
        (beat(sites=[source("no answer")]), True, 1, "waiting"),
        (beat(trouble="no answer"), True, 1, "waiting"),
        (beat(trouble="no answer", halts=[refused(PART, 1, "too large")]), True, 1, "halted"),
    ],
)
def test_its_state_in_a_word(seen, runs, age_s, state):
    assert seen.state(NOW + timedelta(seconds=age_s), runs=runs) == state


def test_a_beat_says_how_much_waits_and_why():
    seen = beat(sites=[source("no answer from plant-a")], halts=[refused(PART, 1, "too large")])
    assert seen.lag_records == 7
    assert seen.notes()[0] == "no answer from plant-a"
    assert "millrace relay r --accept-loss plant-a/t/2:2" in seen.notes()[1]
