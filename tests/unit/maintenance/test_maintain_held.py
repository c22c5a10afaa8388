"""Days that are held back: remembered, told once, and gone after a person's yes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import write_deltalake

from millrace.incidents.core.event import EventKind, read_event
from millrace.incidents.core.incident import Incident
from millrace.incidents.core.incident_advice import advise
from millrace.incidents.io.outbox import Outbox
from millrace.lake.io.tables import ensure_bronze
from millrace.maintenance.core.maintenance_plan import Expire, TablePlan
from millrace.maintenance.core.retention import Passed
from millrace.maintenance.io.maintenance_run import maintain, make_plans
from millrace.maintenance.io.passed_file import PassedFile
from millrace.maintenance.text import held_lines, plan_lines
from millrace.pipelines.core.spec import Keep, PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.storage.io.objects import FolderObjects
from tests.unit.maintenance.tables_of_days import rows_of

NOW = datetime.now(UTC)
TODAY = NOW.date()
KEEP = timedelta(days=3)
PIPELINE = PipelineSpec(
    name="p", sites="all", topics=("t",), format="json", table="t", keep=Keep(bronze=KEEP)
)


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    return Platform(tmp_path, events_site="plant-a")


@pytest.fixture
def table(layout: Platform) -> Path:
    """Ten days, of which six are too old, and one went today already."""
    place = Path(layout.table("bronze", "t"))
    ensure_bronze(place)
    for age in range(10):
        noon = datetime.combine(TODAY - timedelta(days=age), NOW.timetz())
        write_deltalake(
            place, rows_of(noon.date(), noon, came=noon), mode="append", schema_mode="merge"
        )
    began = TODAY - timedelta(days=10)
    passed = Passed(on=TODAY, began=began, now=began + timedelta(days=1))
    PassedFile(FolderObjects(layout.job("p")), "bronze").put(passed)
    return place


def plans(layout: Platform, *, agreed: bool = False) -> list[TablePlan]:
    return make_plans(layout, PIPELINE, None, NOW, agreed=agreed)


def gone(plans: Iterable[TablePlan]) -> list[date]:
    actions = [action for plan in plans for action in plan.actions]
    return [day for action in actions if isinstance(action, Expire) for day in action.days]


def test_what_is_held_back_is_told_once_a_day_with_the_way_to_say_yes(
    layout: Platform, table: Path
) -> None:
    outbox = Outbox(layout.outbox)
    for _ in range(2):
        made = plans(layout)
        maintain(layout, PIPELINE, made, lambda _line: None)
        assert made[0].held
        assert len(made[0].held.days) == 6
        (event_id,) = outbox.ids()
    event = read_event(outbox.read(event_id) or "")
    assert event
    assert event.kind == EventKind.DAYS_HELD
    assert f"bronze (6 days, {TODAY - timedelta(days=9)} to {TODAY - timedelta(days=4)})" in (
        event.text
    )
    steps = advise(Incident(events=(event,)))
    assert "millrace maintain p --yes" in [step.command for step in steps]
    assert any("held back" in line for line in plan_lines(made))
    assert "--yes" in held_lines(made, "p")[1]


def test_after_a_yes_all_that_is_old_goes(layout: Platform, table: Path) -> None:
    made = plans(layout, agreed=True)
    assert gone(made) == [TODAY - timedelta(days=age) for age in range(9, 3, -1)]
    assert not made[0].held


def test_a_layer_of_which_nothing_is_remembered_begins_at_its_oldest_day(
    layout: Platform, table: Path
) -> None:
    (layout.job("p") / "retention-bronze.json").unlink()
    made = plans(layout)
    assert gone(made) == [TODAY - timedelta(days=9)]
    assert made[0].held
    assert len(made[0].held.days) == 5
