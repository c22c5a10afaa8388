"""What the Fleet page shows, and what supervision writes down for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.fleet.core.pipeline_card import judge, make_card, make_page, refused_share
from millrace.fleet.core.site_card import make_site_page
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.core.journal import Journal, Note
from millrace.pipelines.core.spec import PipelineSpec
from millrace.sites.core.spec import SiteSpec

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
SPEC = PipelineSpec(
    name="temperature", sites="all", topics=("t",), format="json", table="temperature"
)
PART = PartitionLag(
    topic="t",
    partition=0,
    position=90,
    end=100,
    oldest_waiting=NOW - timedelta(seconds=3),
    newest_at=NOW - timedelta(seconds=1),
)


def site(
    name: str, *, rows: int = 100, refused: int = 0, reachable: bool = True, halted: str = ""
) -> SiteBeat:
    return SiteBeat(
        site=name,
        batch=1,
        rows_per_s=10,
        rows_total=rows,
        last_batch_at=NOW,
        reachable=reachable,
        halted=halted,
        partitions=(PART,),
        refused={"decode": refused} if refused else {},
    )


def beat(*sites: SiteBeat, age_s: float = 1) -> IngestBeat:
    return IngestBeat(
        job="temperature",
        generation=3,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=NOW - timedelta(seconds=age_s),
        sites=sites,
    )


def journal(condition: Condition, minutes_ago: float = 5) -> Journal:
    return Journal().noting(NOW - timedelta(minutes=minutes_ago), condition, "why")


def test_a_change_is_noted_once_and_the_oldest_go() -> None:
    book = Journal()
    for second in range(1000):
        condition = Condition.HEALTHY if second % 4 < 2 else Condition.DEAD
        book = book.noting(NOW + timedelta(seconds=second), condition, "")
    assert len(book.notes) == 200
    assert all(a.condition != b.condition for a, b in zip(book.notes, book.notes[1:], strict=False))


def test_an_hour_of_samples_is_kept_one_a_minute() -> None:
    book = Journal()
    for second in range(0, 7200, 2):
        book = book.sampling(NOW + timedelta(seconds=second), beat(site("plant-a")))
    assert len(book.samples) == 60
    assert book.samples[-1].at - book.samples[0].at == timedelta(minutes=59)


@pytest.mark.parametrize(
    ("condition", "age_s", "shown"),
    [
        (Condition.HEALTHY, 1, Condition.HEALTHY),
        (Condition.LAGGING, 1, Condition.LAGGING),
        (Condition.HEALTHY, 61, Condition.UNKNOWN),
        (Condition.STOPPED, 9000, Condition.STOPPED),
        (Condition.CRASH_LOOP, 9000, Condition.CRASH_LOOP),
    ],
)
def test_the_state_is_supervisions_unless_all_are_silent(
    condition: Condition, age_s: float, shown: Condition
) -> None:
    note = Note(at=NOW - timedelta(hours=1), condition=condition, reason="why")
    assert judge(SPEC.supervise, beat(age_s=age_s), note, NOW)[0] == shown


def test_what_never_ran_says_so() -> None:
    card = make_card(SPEC, (), None, Journal(), NOW)
    assert (card.state, card.reason) == (Condition.ABSENT, "never started")
    assert (card.rows_per_s, card.refused, card.last_batch_at) == (0.0, None, None)


def test_a_card_sums_up_its_sites() -> None:
    both = beat(site("plant-a", refused=5), site("plant-b", reachable=False))
    card = make_card(SPEC, ("plant-a", "plant-b"), both, journal(Condition.HEALTHY), NOW)
    assert (card.state, card.rows_per_s, card.lag_records) == (Condition.HEALTHY, 20.0, 20)
    assert (card.behind_s, card.refused, card.sites_away) == (3.0, 0.025, ("plant-b",))


def test_a_card_names_each_site_that_is_halted_now() -> None:
    noted = Journal().noting(NOW, Condition.DEGRADED, "site plant-a halted: x")
    both = beat(site("plant-a", halted="x"), site("plant-b", halted="y"), site("plant-c"))
    card = make_card(SPEC, ("plant-a", "plant-b", "plant-c"), both, noted, NOW)
    assert card.sites_halted == ("plant-a", "plant-b")
    assert card.reason == (
        "site plant-a halted (10 messages wait, the oldest for 2 s): x;"
        " site plant-b halted (10 messages wait, the oldest for 2 s): y"
    )
    assert card.rows_per_s == 30.0
    page = make_page(card, both, noted, {})
    assert [row.halted for row in page.parts] == ["x", "y", ""]


def test_the_lag_of_a_halted_site_is_that_sites_alone() -> None:
    """What waits there waits for a person; the job is as fresh as the sites that it reads."""
    days_old = PART.model_copy(
        update={"end": 5_000, "oldest_waiting": NOW - timedelta(days=3)},
    )
    halted = site("plant-a", halted="records are gone").model_copy(
        update={"partitions": (days_old,)}
    )
    now = beat(halted, site("plant-b"), age_s=0)
    card = make_card(SPEC, ("plant-a", "plant-b"), now, journal(Condition.DEGRADED), NOW)
    assert (card.behind_s, card.lag_records) == (3.0, 10)
    assert "plant-a halted (4910 messages wait, the oldest for 259200 s)" in card.reason
    book = Journal().sampling(NOW, now)
    assert book.samples[0].lag_s == 3.0
    spec = SiteSpec(name="plant-a", bootstrap="127.0.0.1:9092")
    (reader,) = make_site_page(spec, {"temperature": now}, (), {}).readers
    assert (reader.waiting, reader.behind_s) == (4_910, 259_200.0)


def test_a_job_without_a_site_that_reads_is_as_far_behind_as_all_of_them() -> None:
    assert beat(site("plant-a", halted="x")).lag_s(NOW) == 3.0


def test_a_stopped_job_has_no_rate() -> None:
    card = make_card(SPEC, (), beat(site("plant-a")), journal(Condition.STOPPED), NOW)
    assert card.rows_per_s == 0.0


def test_no_rows_have_no_share_of_refused_ones() -> None:
    assert refused_share((site("plant-a", rows=0),)) is None


def test_a_page_has_its_partitions_and_the_newest_event_first() -> None:
    book = journal(Condition.STARTING, 6).noting(NOW, Condition.HEALTHY, "running")
    now = beat(site("plant-a", refused=5), site("plant-b", refused=2))
    page = make_page(make_card(SPEC, (), now, book, NOW), now, book, {})
    assert [(part.site, part.waiting) for part in page.parts] == [("plant-a", 10), ("plant-b", 10)]
    assert page.parts[0].newest_at == NOW - timedelta(seconds=1)
    assert [note.condition for note in page.events] == [Condition.HEALTHY, Condition.STARTING]
    assert page.refused == {"decode": 7}


@pytest.mark.parametrize(
    ("beats", "connection", "seen_s"),
    [
        ({}, "unknown", None),
        ({"one": beat(site("plant-a"))}, "answers", 1),
        ({"one": beat(site("plant-a", reachable=False))}, "away", None),
        (
            {
                "old": beat(site("plant-a"), age_s=9000),
                "new": beat(site("plant-a", reachable=False)),
            },
            "away",
            9000,
        ),
        ({"other": beat(site("plant-b"))}, "unknown", None),
    ],
    ids=["nobody reads it", "answers", "away", "away since", "another site"],
)
def test_a_sites_connection_is_what_the_newest_word_says(
    beats: dict[str, IngestBeat], connection: str, seen_s: float | None
) -> None:
    spec = SiteSpec(name="plant-a", bootstrap="127.0.0.1:9092")
    page = make_site_page(spec, beats, ("app",), {})
    seen_at = NOW - timedelta(seconds=seen_s) if seen_s else None
    assert (page.connection, page.seen_at) == (connection, seen_at)
