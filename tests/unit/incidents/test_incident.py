"""Which events are one incident, what its page says, what it offers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.base.hidden import hidden
from millrace.base.ranges import Range
from millrace.fleet.core.incident_page import Scene, render_incident
from millrace.fleet.core.pipeline_card import make_card, make_page
from millrace.incidents.core.event import Event, EventKind, Gap, make_event
from millrace.incidents.core.incident import WINDOW, Incident, forgotten, gather, offered_replay
from millrace.incidents.core.incident_advice import advise
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.journal import Journal
from millrace.pipelines.core.spec import PipelineSpec

NOW = datetime(2026, 1, 1, 3, tzinfo=UTC)


def event(
    minute: float = 0,
    kind: EventKind = EventKind.SITE_SILENT,
    pipeline: str = "p",
    site: str = "plant-a",
    gaps: tuple[Gap, ...] = (),
    text: str = "no word",
) -> Event:
    return make_event(kind, pipeline, NOW + timedelta(minutes=minute), text, site, gaps)


def gap(partition: int = 0, first: int = 3, site: str = "plant-a", source: str = "kafka") -> Gap:
    return Gap.model_validate(
        {
            "site": site,
            "topic": "t",
            "partition": partition,
            "span": Range(first=first, last=first + 4),
            "source": source,
        }
    )


END = WINDOW.total_seconds() / 60


#  0----5----10----15    an incident takes events of its kind and pipeline for 15 minutes
@pytest.mark.parametrize(
    ("events", "sizes"),
    [
        ([event(0)], [1]),
        ([event(0), event(END - 0.1, site="b")], [2]),
        ([event(0), event(END)], [1, 1]),
        ([event(0), event(END - 1), event(END + 1)], [2, 1]),
        ([event(0), event(1, kind=EventKind.GAP_FOUND)], [1, 1]),
        ([event(0), event(1, pipeline="q")], [1, 1]),
        ([event(0), event(0)], [1]),
        ([event(5), event(0, site="b")], [2]),
    ],
    ids=[
        "one",
        "two",
        "too late",
        "no longer for more",
        "kind",
        "pipeline",
        "doubled",
        "overtaken",
    ],
)
def test_events_of_a_kind_and_a_pipeline_within_the_window_are_one(
    events: list[Event], sizes: list[int]
) -> None:
    assert [len(one.events) for one in gather((), events)] == sizes


def test_a_storm_of_an_hour_is_four_pages() -> None:
    storm = [event(second / 60, site=f"s{second}") for second in range(0, 3600, 10)]
    known: tuple[Incident, ...] = ()
    for one in storm:
        (grown,) = gather(known, [one])
        known = (*(i for i in known if i.id != grown.id), grown)
    assert len(known) == 4


def test_a_doubled_delivery_changes_nothing() -> None:
    known = gather((), [event(0), event(1, site="b")])
    assert gather(known, [event(1, site="b"), event(0)]) == ()


def test_only_what_is_new_or_grew_is_told() -> None:
    known = gather((), [event(0), event(0, pipeline="q")])
    (grown,) = gather(known, [event(2, site="b")])
    assert (grown.pipeline, len(grown.events)) == ("p", 2)
    assert grown.id in {one.id for one in known}


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ((gap(),), {"partitions": [0], "first_offset": 3, "last_offset": 7, "source": "kafka"}),
        ((gap(source="bronze"),), {"source": "bronze", "first_offset": 3}),
        ((gap(0), gap(1)), {"partitions": [0, 1], "first_offset": None, "last_offset": None}),
        ((gap(first=3), gap(first=90)), {"partitions": [0], "first_offset": None}),
        ((gap(), gap(site="b", source="bronze")), {"sites": ["b", "plant-a"], "source": "kafka"}),
    ],
    ids=["one", "of silver", "two partitions", "two spans", "two sites"],
)
def test_the_form_asks_for_what_is_missing(
    gaps: tuple[Gap, ...], expected: dict[str, object]
) -> None:
    form = offered_replay("p", gaps)
    assert form
    assert expected.items() <= form.model_dump(mode="json").items()


def test_without_a_gap_there_is_nothing_to_replay() -> None:
    assert offered_replay("p", ()) is None


def scene(journal: Journal | None = None, log: tuple[str, ...] = ()) -> Scene:
    spec = PipelineSpec(name="p", sites="all", topics=("t",), format="json", table="t")
    book = journal or Journal()
    page = make_page(make_card(spec, ("plant-a",), None, book, NOW), None, book, {})
    return Scene(at=NOW, airflow="https://airflow", page=page, log=log)


def incident(kind: EventKind = EventKind.GAP_FOUND, text: str = "no word") -> Incident:
    gaps = (gap(),) if kind == EventKind.GAP_FOUND else ()
    return Incident(events=(event(kind=kind, gaps=gaps, text=text),))


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_has_a_page_that_says_what_to_do(kind: EventKind) -> None:
    page = render_incident(incident(kind), scene())
    assert f"{kind}: p" in page
    for step in advise(incident(kind)):
        assert not step.path or f'href="https://airflow{step.path}"' in page


def test_a_relay_has_no_page_of_a_pipeline() -> None:
    steps = advise(incident(EventKind.RELAY_HALTED))
    assert [step.path for step in steps] == [None, None]
    assert steps[1].command == "millrace relay p --accept-loss SITE/TOPIC/PARTITION"


def test_a_job_that_is_no_pipelines_leads_to_its_own_pages() -> None:
    paths = {step.path for step in advise(incident(EventKind.GIVEN_UP), "counting.p")}
    assert {"/plugin/fleet?job=p", "/dags/counting.p/runs"} <= paths
    assert not any(path and "pipeline" in path for path in paths)
    bare = Scene(at=NOW, airflow="https://airflow", dag_id="counting.p", log=("died",))
    page = render_incident(incident(EventKind.GIVEN_UP), bare)
    assert "https://airflow/dags/counting.p/runs" in page
    assert "<pre>died</pre>" in page


def test_what_came_from_elsewhere_is_text_and_never_markup() -> None:
    evil = "<script>alert(1)</script>"
    journal = Journal().noting(NOW, Condition.DEAD, evil)
    page = render_incident(incident(text=evil), scene(journal, (evil,)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("sasl.password=abc123 next", "sasl.password=***"),
        ("Token: abc", "Token: ***"),
        ("exit 1: out of memory", "exit 1: out of memory"),
    ],
)
def test_a_secret_that_came_into_a_log_stays_off_the_page(line: str, shown: str) -> None:
    assert hidden(line) == shown
    assert "abc" not in render_incident(incident(text=line), scene(log=(line,)))


def test_a_gap_is_offered_with_the_command_that_brings_it_back() -> None:
    page = render_incident(incident(), scene())
    assert "millrace replay p --site plant-a --topic t --partition 0" in page


def test_a_pipeline_that_is_no_more_has_a_page_too() -> None:
    bare = Scene(at=NOW, airflow="https://airflow")
    assert "site silent: p" in render_incident(incident(EventKind.SITE_SILENT), bare)


def test_the_oldest_are_forgotten() -> None:
    ids = [f"{number:04}" for number in range(2_003)]
    assert forgotten(ids) == ["0000", "0001", "0002"]
