"""Planning what a site lacks."""

from __future__ import annotations

import pytest

from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import (
    Acl,
    Actual,
    FewerPartitionsError,
    Operation,
    Resource,
    Topic,
    Wanted,
    plan_changes,
    wanted_for_site,
)
from millrace.sites.core.spec import SiteSpec

SITE = SiteSpec(name="plant-a", bootstrap="127.0.0.1:19092")
REGISTRATIONS = ["device-registration", "sensor-registration", "sensor-type-registration"]
COMMAND_TOPICS = ["commands", "command-outcomes"]
READ_T = Acl(user="app", operation=Operation.READ, resource=Resource.TOPIC, name="t")


DIRECT = SITE.model_copy(update={"direct": True})
WRITE_T = READ_T.model_copy(update={"operation": Operation.WRITE})
ANY_GROUP = Acl(user="app", operation=Operation.READ, resource=Resource.GROUP, name="*")


def pipeline(name: str = "p", **values) -> PipelineSpec:
    given = {"sites": "all", "topics": ["t"], "format": "json", "table": "t"} | values
    return PipelineSpec(name=name, **given)


def topic(partitions: int = 1, **settings: str) -> Topic:
    return Topic(name="t", partitions=partitions, settings=settings)


def achieved(wanted: Wanted) -> Actual:
    return Actual(users=frozenset(wanted.users), topics=wanted.topics, acls=frozenset(wanted.acls))


def test_empty_site_gets_everything():
    wanted = wanted_for_site(SITE, [pipeline()])
    changes = plan_changes(wanted, Actual())
    assert len(changes) == len(wanted.users) + len(wanted.topics) + len(wanted.acls)


def test_a_right_that_two_want_is_given_and_taken_once():
    twice = Wanted(acls=(READ_T, READ_T), withdrawn=(WRITE_T, WRITE_T))
    changes = plan_changes(twice, Actual(acls=frozenset({WRITE_T})))
    assert [str(one) for one in changes] == [f"right: {READ_T}", f"right taken away: {WRITE_T}"]


def test_what_is_achieved_needs_no_change():
    wanted = wanted_for_site(SITE, [pipeline()])
    assert plan_changes(wanted, achieved(wanted)) == ()


def test_what_others_made_stays():
    others = Actual(
        users=frozenset({"guest"}),
        topics=(Topic(name="theirs", partitions=9),),
        acls=frozenset({READ_T}),
    )
    assert plan_changes(Wanted(), others) == ()


@pytest.mark.parametrize(
    ("wanted", "actual", "lines"),
    [
        (topic(2), None, ["topic t: created with 2 partitions"]),
        (topic(3), topic(2), ["topic t: grown from 2 to 3 partitions"]),
        (topic(2), topic(2, **{"retention.ms": "1"}), []),
        (topic(2, a="1"), topic(2, a="1", b="2"), []),
        (topic(2, a="1", b="3"), topic(2, a="1", b="2"), ["topic t: set b=3"]),
        (
            topic(3, a="1"),
            topic(2),
            ["topic t: grown from 2 to 3 partitions", "topic t: set a=1"],
        ),
    ],
    ids=["absent", "grows", "foreign setting", "equal", "setting differs", "both"],
)
def test_topic_comes_to_what_is_asked_for(wanted, actual, lines):
    there = Actual(topics=(actual,) if actual else ())
    assert [str(c) for c in plan_changes(Wanted(topics=(wanted,)), there)] == lines


def test_fewer_partitions_are_refused_with_the_way_out():
    with pytest.raises(FewerPartitionsError, match="write partitions: 4"):
        plan_changes(Wanted(topics=(topic(2),)), Actual(topics=(topic(4),)))


def test_topics_of_pipelines_elsewhere_are_not_wanted():
    here = pipeline("here", sites=["plant-a"], topics=["mine"])
    elsewhere = pipeline("elsewhere", sites=["plant-b"], topics=["theirs"])
    wanted = wanted_for_site(SITE, [here, elsewhere])
    assert [t.name for t in wanted.topics] == ["mine", *REGISTRATIONS, *COMMAND_TOPICS]


def test_shared_topic_gets_what_the_hungriest_pipeline_wants():
    wanted = wanted_for_site(SITE, [pipeline("a", partitions=2), pipeline("b", partitions=6)])
    assert (wanted.topics[0].name, wanted.topics[0].partitions) == ("t", 6)


@pytest.mark.parametrize(
    ("user", "may"),
    [
        ("ingest", {"read topic t", "describe topic t", "read group millrace-*"}),
        ("simulator", set()),
        (
            "gateway",
            {
                "write topic t",
                "describe topic t",
                "read topic t",
                "read group gateway",
                "read topic commands",
                "describe topic commands",
                "read topic command-outcomes",
                "write topic command-outcomes",
                "describe topic command-outcomes",
            },
        ),
        (
            "app",
            {
                "read topic t",
                "describe topic t",
                "read group app*",
                "write transactional id app*",
                "describe transactional id app*",
                *(
                    f"{verb} topic {name}"
                    for name in REGISTRATIONS
                    for verb in ("read", "describe")
                ),
                "read topic commands",
                "write topic commands",
                "describe topic commands",
                "read topic command-outcomes",
                "describe topic command-outcomes",
            },
        ),
        (
            "registrar",
            {
                "read group registrar",
                "write transactional id registrar",
                *(
                    f"{verb} topic {name}"
                    for name in REGISTRATIONS
                    for verb in ("read", "write", "describe")
                ),
            },
        ),
    ],
)
def test_each_user_may_do_its_work_and_no_more(user, may):
    acls = wanted_for_site(SITE, [pipeline()]).acls
    assert {str(acl).removeprefix(f"{user} may ") for acl in acls if acl.user == user} == may


def test_registrations_are_at_every_site_and_the_newest_of_each_is_kept():
    topics = {topic.name: topic for topic in wanted_for_site(SITE, []).topics}
    assert set(REGISTRATIONS) <= set(topics)
    for topic in map(topics.get, REGISTRATIONS):
        assert topic.partitions == 1, "they are read in their order"
        assert topic.settings["cleanup.policy"] == "compact"


def test_platform_events_are_at_their_site_alone():
    here = wanted_for_site(SITE, [pipeline()], events_site="plant-a")
    assert here.topics[-1].name == "platform-events"
    assert here.topics[-1].partitions == 1, "they are read in their order"
    assert wanted_for_site(SITE, [pipeline()], "plant-b") == wanted_for_site(SITE, [pipeline()])


def test_who_tells_of_events_may_touch_nothing_else():
    acls = wanted_for_site(SITE, [pipeline()], events_site="plant-a").acls
    assert {str(acl) for acl in acls if acl.user == "platform"} == {
        "platform may read topic platform-events",
        "platform may write topic platform-events",
        "platform may describe topic platform-events",
        "platform may read group platform-events",
    }
    others = [acl for acl in acls if acl.user != "platform" and acl.name == "platform-events"]
    assert others == []


@pytest.mark.parametrize("user", ["app", "simulator"])
def test_who_may_write_beside_the_gateway_is_said_in_the_sites_file(user):
    write = WRITE_T.model_copy(update={"user": user})
    assert write not in wanted_for_site(SITE, [pipeline()]).acls
    assert write in wanted_for_site(DIRECT, [pipeline()]).acls


def test_a_gateways_numbers_can_be_taken_by_nobody_else():
    """Who may write a topic may write any number in a header, and silver takes each once."""
    acls = wanted_for_site(SITE, [pipeline()]).acls
    writers = {acl.user for acl in acls if acl.name == "t" and acl.operation is Operation.WRITE}
    assert writers == {"gateway"}


def test_no_two_users_share_a_consumer_group():
    acls = wanted_for_site(SITE, [pipeline()], SITE.name).acls
    groups = [acl for acl in acls if acl.resource is Resource.GROUP]
    assert len(groups) >= 4
    for one in groups:
        assert one.name != "*"
        others = [other.name for other in groups if other.user != one.user]
        assert one.name not in others
        assert not (one.prefixed and [name for name in others if name.startswith(one.name)])


def test_rights_that_were_too_many_are_taken_back_once():
    had = frozenset({ANY_GROUP, WRITE_T, READ_T})
    gone = [str(one) for one in plan_changes(wanted_for_site(SITE, [pipeline()]), Actual(acls=had))]
    assert [line for line in gone if "taken away" in line] == [
        "right taken away: app may read group *",
        "right taken away: app may write topic t",
    ]
    kept = plan_changes(wanted_for_site(DIRECT, [pipeline()]), Actual(acls=had))
    assert [str(one) for one in kept if "taken away" in str(one)] == [
        "right taken away: app may read group *"
    ]
