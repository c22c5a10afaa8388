"""What may be wished of the sites, what is refused, and what is told of it."""

from __future__ import annotations

import pytest

from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import Acl, Actual, Operation, Resource, wanted_for_site
from millrace.site_changes.core.site_change import (
    Present,
    SiteChange,
    plan_at_cluster,
    plan_site_change,
)
from millrace.site_changes.core.site_request import SiteAction, SiteRequest, SiteRequestError
from millrace.site_changes.text import plan_lines
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.sites.core.user_names import SITE_USERS

A = SiteSpec(name="plant-a", bootstrap="a.example:9093", client={"socket.keepalive.enable": True})
Z = SiteSpec(name="plant-z", bootstrap="z.example:9093")
B = SiteSpec(name="plant-b", bootstrap="127.0.0.1:19192", local=LocalBroker())


def pipeline(name: str, sites: object) -> PipelineSpec:
    return PipelineSpec(name=name, sites=sites, topics=["t"], format="json", table="t")


EVERYWHERE, AT_A = pipeline("everywhere", "all"), pipeline("at-a", ["plant-a"])
PRESENT = Present(sites=(A, B), pipelines=(EVERYWHERE, AT_A))


def plan(action: str, site: str, present: Present = PRESENT, **said: object) -> SiteChange:
    return plan_site_change(SiteRequest(action=SiteAction(action), site=site, **said), present)


@pytest.mark.parametrize(
    ("action", "site", "said", "why"),
    [
        ("add", "plant-a", {"bootstrap": "c:9093"}, r"exists already \(dags/sites/plant-a"),
        ("add", "plant-c", {}, "bootstrap is missing; write host:port"),
        ("add", "plant-c", {"bootstrap": "c"}, "bootstrap='c': 'c' is not host:port"),
        ("add", "Plant C", {"bootstrap": "c:1"}, "name='Plant C': write small letters"),
        ("add", "plant-c", {"bootstrap": "x:1,A.example:9093"}, "cluster of site 'plant-a'"),
        ("add", "plant-c", {"bootstrap": "h:19193", "local": True}, "needs port 19193"),
        (
            "add",
            "plant-c",
            {"bootstrap": "c:1", "client": {"security.protocol": "PLAINTEXT"}},
            "may tune",
        ),
        ("add", "plant-c", {"bootstrap": "c:1", "users": ["app"]}, "users is for rotate"),
        (
            "change",
            "plant-a",
            {"client": {"librdkafka.ssl.key.password": "x"}},
            "may hold a secret",
        ),
        ("change", "plant-c", {"description": "x"}, "did you mean 'plant-"),
        ("change", "plant-a", {}, "is so already"),
        ("change", "plant-a", {"bootstrap": "a.example:9093"}, "is so already"),
        ("change", "plant-a", {"bootstrap": "127.0.0.1:19192"}, "cluster of site 'plant-b'"),
        ("change", "plant-a", {"local": True, "description": "x"}, "local is for add"),
        ("retire", "plant-c", {"typed": "plant-c"}, "'plant-c' does not exist"),
        ("retire", "plant-a", {"typed": "plant-a"}, r"named by dags/pipelines/at-a\.yaml;"),
        ("retire", "plant-b", {"typed": "plant-a"}, "type its name once more; it was 'plant-a'"),
        ("retire", "plant-b", {}, "type its name once more"),
        ("rotate", "plant-c", {"users": ["app"]}, "does not exist"),
        ("rotate", "plant-a", {}, "whose password"),
        ("rotate", "plant-a", {"users": ["ap"]}, "did you mean 'app'"),
        ("rotate", "plant-a", {"users": ["app"], "typed": "x"}, "typed is for retire"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(action, site, said, why):
    with pytest.raises(SiteRequestError, match=why):
        plan(action, site, **said)


def test_the_last_site_stays_while_a_pipeline_reads_all_sites():
    alone = Present(sites=(B,), pipelines=(EVERYWHERE,))
    with pytest.raises(SiteRequestError, match="the last, and everywhere would have none"):
        plan("retire", "plant-b", alone, typed="plant-b")


def test_nobody_has_to_type_a_name_to_see_what_would_be():
    assert plan("retire", "plant-b", dry_run=True).site == B


def test_a_retirement_cut_short_goes_on_without_the_file():
    change = plan(
        "retire", "plant-z", PRESENT.model_copy(update={"leaving": (Z,)}), typed="plant-z"
    )
    assert (change.site, change.before, change.needs_cluster) == (Z, None, True)


def test_a_new_site_gets_what_the_pipelines_that_read_it_need():
    change = plan("add", "plant-c", bootstrap="c:9093")
    assert change.readers == ("everywhere",)
    assert change.wanted == wanted_for_site(change.site, [EVERYWHERE])


@pytest.mark.parametrize(
    ("site", "said", "asks"),
    [
        ("plant-a", {"description": "x"}, False),
        ("plant-a", {"bootstrap": "a2:9093"}, True),
        ("plant-a", {"client": {"socket.keepalive.enable": ""}}, True),
        ("plant-b", {"bootstrap": "127.0.0.1:20000"}, False),
    ],
    ids=["words alone", "address", "client", "broker of this machine"],
)
def test_the_cluster_is_asked_where_it_is_reached_otherwise(site, said, asks):
    assert plan("change", site, **said).needs_cluster is asks


def test_an_empty_client_setting_is_taken_away_and_the_others_stay():
    said = {"socket.keepalive.enable": "", "java.linger.ms": 1}
    assert plan("change", "plant-a", client=said).site.client == {"java.linger.ms": 1}


def acl(user: str) -> Acl:
    return Acl(user=user, operation=Operation.READ, resource=Resource.TOPIC, name="t")


def at_cluster(change: SiteChange, actual: Actual, known: tuple[str, ...] = SITE_USERS):
    return [str(one) for one in plan_at_cluster(change, actual, known)]


def test_retiring_takes_our_users_and_rights_and_nobody_elses():
    theirs = Actual(users=frozenset({"app", "guest"}), acls=frozenset({acl("app"), acl("guest")}))
    assert at_cluster(plan("retire", "plant-b", typed="plant-b"), theirs) == [
        "user app: taken away",
        "right taken away: app may read topic t",
    ]


def test_rotating_renews_the_named_and_no_other():
    change = plan("rotate", "plant-a", users=["gateway", "app"])
    everybody = Actual(users=frozenset(SITE_USERS))
    assert at_cluster(change, everybody) == [
        "user app: gets a new password",
        "user gateway: gets a new password",
    ]


def test_users_that_a_new_cluster_has_already_get_passwords_that_are_known_here():
    lonely = Present(sites=(A,))
    change = plan("add", "plant-c", lonely, bootstrap="c:9093")
    there = Actual(users=frozenset({"app", "ingest", "guest"}))
    told = at_cluster(change, there, known=("app",))
    assert [line for line in told if line.startswith("user")] == [
        "user ingest: gets a new password",
        "user simulator: created",
        "user gateway: created",
        "user relay: created",
        "user registrar: created",
    ]


def said_of(change: SiteChange) -> str:
    return "\n".join(plan_lines(change, ()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            plan("add", "plant-c", bootstrap="c:9093"),
            ["plant-c.yaml: written", "bundle"],
        ),
        (
            plan("add", "plant-c", Present(sites=()), bootstrap="h:9093", local=True),
            ["starts with the next 'millrace up'", "no pipeline reads it yet"],
        ),
        (
            plan("change", "plant-a", bootstrap="a2:9093", client={"java.linger.ms": 1}),
            [
                "bootstrap: 'a.example:9093' becomes 'a2:9093'",
                "client.java.linger.ms: nothing becomes 1",
                "same cluster has to be at the new address",
                "pipeline at-a: its job",
            ],
        ),
        (
            plan("retire", "plant-b", typed="plant-b"),
            [
                "moved to dags/sites/retired/",
                "everywhere: its job goes on without",
                "data stay",
                "to undo it",
            ],
        ),
        (
            plan("retire", "plant-b", typed="plant-b", keep_users=True),
            ["users and rights are left"],
        ),
        (
            plan("rotate", "plant-a", users=SITE_USERS),
            ["running jobs stay connected", "millrace client plant-a", "has the new bundle"],
        ),
    ],
    ids=["add", "add here", "change", "retire", "keep users", "rotate"],
)
def test_every_consequence_is_told(change, words):
    assert [word for word in words if word not in said_of(change)] == []


def test_only_words_change_no_job():
    assert "starts anew" not in said_of(plan("change", "plant-a", description="x"))
