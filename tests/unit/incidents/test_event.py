"""What becomes an event, and how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.base.ranges import Range
from millrace.incidents.core.event import Event, EventKind, Gap, make_event, read_event
from millrace.incidents.core.event_sources import (
    of_alarms,
    of_change,
    of_halts,
    of_made_anew,
    of_silences,
    of_verdict,
    silences,
)
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.heartbeat import MadeAnew, Phase
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.trend import InputTrend, Trend
from millrace.kafka.core.coordinates import Part
from millrace.pipelines.core.spec import Supervise
from millrace.quality.core.quality_task import QualityResult
from millrace.quality.core.verdict import ExpectationOutcome
from millrace.repair.core.alarms import Alarm, AlarmKind, disagreement_alarm, unreachable_alarm
from millrace.repair.core.verify_spec import Facts, PartitionVerdict, part_alarms

NOW = datetime(2026, 1, 1, 3, tzinfo=UTC)
PART = Part("plant-a", "t", 0)
SPAN = Range(first=3, last=7)


def gap_alarm(kind: AlarmKind = AlarmKind.ORPHANED, part: Part = PART) -> Alarm:
    return disagreement_alarm("p", kind, part, (SPAN,))


def events_of(conditions: str) -> list[EventKind]:
    """The events of a journal that is written a note at a time."""
    journal, kinds = Journal(), []
    for number, name in enumerate(conditions.split(", ")):
        before = journal
        journal = before.noting(NOW + timedelta(seconds=number), Condition(name), "exit 1\nlog")
        event = of_change("p", before, journal)
        kinds += [event.kind] if event else []
    return kinds


LOOP, UP = EventKind.CRASH_LOOPING, EventKind.GIVEN_UP


@pytest.mark.parametrize(
    ("conditions", "events"),
    [
        ("healthy, dead, starting, healthy", []),
        ("dead, crash loop", [LOOP]),
        ("dead, crash loop, starting, dead, crash loop, starting, dead, crash loop", [LOOP]),
        ("crash loop, starting, dead, given up", [LOOP, UP]),
        ("given up, starting, dead, given up, starting, dead, given up", [UP]),
        ("crash loop, starting, healthy, dead, crash loop", [LOOP, LOOP]),
        ("given up, outdated, starting, dead, given up", [UP, UP]),
        ("crash loop, stopped, starting, dead, crash loop", [LOOP, LOOP]),
        ("lagging, stuck, stale, fenced, out of sight", []),
    ],
)
def test_a_loop_is_told_once_until_it_is_over(conditions: str, events: list[EventKind]) -> None:
    assert events_of(conditions) == events


def test_a_look_that_changes_nothing_is_no_event() -> None:
    journal = Journal().noting(NOW, Condition.CRASH_LOOP, "exit 1")
    again = journal.noting(NOW + timedelta(seconds=2), Condition.CRASH_LOOP, "exit 1, again")
    assert of_change("p", journal, again) is None


def test_an_event_is_one_sentence_and_not_the_log() -> None:
    journal = Journal().noting(NOW, Condition.GIVEN_UP, "exit 1; used up\nThe last lines\n...")
    event = of_change("p", Journal(), journal)
    assert event
    assert event.text == "exit 1; used up"


def trend(heard_s: float = 0, answered_s: float = 0) -> Trend:
    site = InputTrend(
        position=1,
        end=1,
        moved_at=NOW,
        heard_at=NOW - timedelta(seconds=heard_s),
        answered_at=NOW - timedelta(seconds=answered_s),
    )
    return Trend(generation=1, inputs={"plant-a": site})


@pytest.mark.parametrize(
    ("seen", "silent_after_s", "text"),
    [
        (trend(), 60, None),
        (trend(heard_s=61), 60, "sent no message for 1 minute"),
        (trend(heard_s=9999), None, None),
        (trend(answered_s=301), None, "has not answered for 5 minutes"),
        (trend(heard_s=301, answered_s=301), 60, "has not answered"),
        (None, 60, None),
    ],
    ids=["well", "silent", "nobody knows how often", "away", "away, so silent", "not seen yet"],
)
def test_a_site_is_silent_when_it_sends_nothing_or_does_not_answer(
    seen: Trend | None, silent_after_s: float | None, text: str | None
) -> None:
    after = timedelta(seconds=silent_after_s) if silent_after_s else None
    found = silences(seen, Supervise(silent_after=after), NOW)
    assert list(found) == (["plant-a"] if text else [])
    assert (text or "") in "".join(found.values())


def test_each_site_that_falls_silent_is_told_once() -> None:
    first = of_silences("p", (), {"a": "no word"}, NOW)
    second = of_silences("p", {"a": "no word"}, {"a": "no word", "b": "no word"}, NOW)
    assert [[event.site for event in events] for events in (first, second)] == [["a"], ["b"]]
    assert first[0].kind == EventKind.SITE_SILENT


def test_each_site_that_is_halted_is_told_once_and_is_not_silent_too() -> None:
    first = of_halts("p", (), {"a": "gone"}, NOW)
    second = of_halts("p", {"a": "gone"}, {"a": "gone", "b": "refused"}, NOW)
    assert [[event.site for event in events] for events in (first, second)] == [["a"], ["b"]]
    assert (first[0].kind, first[0].text) == (EventKind.SITE_HALTED, "site 'a' halted: gone")
    site = InputTrend(
        position=1,
        end=1,
        moved_at=NOW,
        heard_at=NOW,
        answered_at=NOW - timedelta(hours=9),
        halted="refused",
    )
    away = Trend(generation=1, inputs={"a": site})
    assert away.halts() == {"a": "refused"}
    assert silences(away, Supervise(), NOW) == {}


def verdict(*, passed: bool) -> QualityResult:
    outcome = ExpectationOutcome(
        type="expect_column_max", subject="value", arguments={}, severity="critical", passed=passed
    )
    return QualityResult.model_validate(
        {
            "pipeline": "p",
            "suite": "s",
            "table": "silver.p",
            "table_id": "1",
            "from_version": 3,
            "to_version": 4,
            "rows": 9,
            "outcomes": [outcome],
            "fail_on": "critical",
            "checked_at": NOW,
            "page": "/page.html",
        }
    )


def test_a_failed_verdict_is_an_event_with_its_reasons() -> None:
    event = of_verdict(verdict(passed=False))
    assert event
    assert event == of_verdict(verdict(passed=False)), "the same check is the same event"
    assert event.kind == EventKind.QUALITY_FAILED
    assert "expect_column_max of value" in event.text
    assert of_verdict(verdict(passed=True)) is None


def test_all_gaps_of_one_look_are_one_event() -> None:
    other = gap_alarm(AlarmKind.UNREFINED, Part("plant-b", "t", 1))
    (event,) = of_alarms("p", (gap_alarm(), other), (), NOW)
    assert event.kind == EventKind.GAP_FOUND
    assert event.gaps == (
        Gap(site="plant-a", topic="t", partition=0, span=SPAN),
        Gap(site="plant-b", topic="t", partition=1, span=SPAN, source="bronze"),
    )
    assert event.site is None
    assert "and 1 more" in event.text


def test_what_bronze_misses_and_silver_has_is_one_gap() -> None:
    (missing,) = part_alarms("p", PART, Facts((), 8, None), PartitionVerdict((SPAN,), (), (), ()))
    (event,) = of_alarms("p", (missing, gap_alarm(AlarmKind.ORPHANED)), (), NOW)
    assert event.gaps == (Gap(site="plant-a", topic="t", partition=0, span=SPAN),)


def test_what_no_replay_brings_back_is_told_without_a_gap() -> None:
    (event,) = of_alarms("p", (gap_alarm(AlarmKind.IN_BOTH),), (), NOW)
    assert event.gaps == ()


def test_an_alarm_is_told_again_only_when_it_changed() -> None:
    known, away = gap_alarm(), unreachable_alarm("plant-b", "no answer")
    assert of_alarms("p", (known, away), (known, away), NOW) == ()
    (event,) = of_alarms("p", (known, away), (known,), NOW)
    assert (event.kind, event.site) == (EventKind.SITE_SILENT, "plant-b")


def test_an_event_reads_as_written_and_anything_else_is_none() -> None:
    event = make_event(
        EventKind.GAP_FOUND,
        "p",
        NOW,
        "x",
        "plant-a",
        (Gap(site="plant-a", topic="t", partition=0, span=SPAN),),
    )
    assert read_event(event.model_dump_json()) == event
    assert Event.model_validate(event.model_dump(mode="json")) == event
    for text in (
        "",
        "{}",
        b"\xff",
        '{"id": "1"}',
        event.model_dump_json().replace("2026", "../2026", 1),
    ):
        assert read_event(text) is None


def test_ids_in_order_are_events_in_order_and_names_of_files() -> None:
    later = make_event(EventKind.SITE_SILENT, "p", NOW + timedelta(milliseconds=1), "x", "plant-a")
    first = make_event(EventKind.SITE_SILENT, "p", NOW, "x", "plant-b")
    assert first.id < later.id == "20260101T030000.001-site-silent-p-plant-a"


def test_a_topic_made_anew_is_one_event_however_often_a_heartbeat_says_so() -> None:
    first = MadeAnew(topic="t", topic_id="b", found_at=NOW)
    again = MadeAnew(topic="t", topic_id="c", found_at=NOW + timedelta(hours=1))
    told: list[Event] = []
    journal = Journal()
    for found in ((), (first,), (first,), (first, again), (first, again)):
        heard = journal.hearing(beat_of(found))
        told += of_made_anew("p", journal, heard)
        journal = heard
    assert [(event.kind, event.site, event.at) for event in told] == [
        (EventKind.TOPIC_ANEW, "plant-a", one.found_at) for one in (first, again)
    ]
    # A watch that lost its notes tells the same events: their ids are the same.
    assert of_made_anew("p", Journal(), Journal().hearing(beat_of((first, again)))) == tuple(told)


def beat_of(made_anew: tuple[MadeAnew, ...]) -> IngestBeat:
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=0,
        rows_total=0,
        last_batch_at=None,
        reachable=True,
        partitions=(),
        made_anew=made_anew,
    )
    return IngestBeat(
        job="p", generation=1, fingerprint="f", phase=Phase.RUNNING, at=NOW, sites=(site,)
    )
