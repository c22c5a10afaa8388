"""Operators of tasks: what they say, when they skip, how they end. No engine is started."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Asset

from millrace.incidents.io.outbox import Outbox
from millrace.lake.io.tables import ensure_bronze
from millrace.platform.core.platform import Platform
from millrace.repair.core.alarms import unreachable_alarm
from millrace.repair.core.replay_form import ReplayForm
from millrace.repair.core.verify_spec import ContinuityResult
from millrace_airflow.base.host import AirflowException, AirflowFailException, AirflowSkipException
from millrace_airflow.repair.replay_operators import ReplayOperator, approve_replay
from millrace_airflow.repair.verify_operators import VerifyOperator
from millrace_airflow.tasks.task_operators import (
    BackfillOperator,
    MaintainOperator,
    PlanMaintenanceOperator,
    QualityOperator,
    day_of,
)

NIGHT = datetime(2026, 11, 18, tzinfo=UTC)
EMPTY_FORM = {
    "pipeline": "temperature",
    "source": "kafka",
    "sites": None,
    "topics": None,
    "partitions": None,
    "since": None,
    "until": None,
    "first_offset": None,
    "last_offset": None,
    "dry_run": False,
}


def context(**values: Any) -> Any:
    return {"params": {}, **values}


def test_a_pipeline_that_has_not_run_yet_is_skipped(layout: Platform) -> None:
    trusted = Asset("trusted/t")
    for operator in (
        PlanMaintenanceOperator(task_id="plan", pipeline="temperature"),
        QualityOperator(task_id="check", pipeline="temperature", trusted=trusted),
    ):
        with pytest.raises(AirflowSkipException, match=r"no table .*temperature yet"):
            operator.execute(context())


def test_a_plan_says_that_nothing_is_needed(
    layout: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    ensure_bronze(layout.table("bronze", "temperature"))
    plan = PlanMaintenanceOperator(task_id="plan", pipeline="temperature")
    assert plan.execute(context()) == {"bronze": 0}


def test_maintenance_with_nothing_to_do_is_skipped_and_starts_nothing(layout: Platform) -> None:
    ensure_bronze(layout.table("bronze", "temperature"))
    compact = MaintainOperator(task_id="compact", pipeline="temperature", kinds=["compact"])
    with pytest.raises(AirflowSkipException, match="nothing to do: compact"):
        compact.execute(context())


def test_quality_without_a_suite_fails_with_the_way_out(layout: Platform) -> None:
    (Path(layout.table("silver", "temperature")) / "_delta_log").mkdir(parents=True)
    (Path(layout.table("silver", "temperature")) / "_delta_log" / f"{0:020}.json").touch()
    check = QualityOperator(task_id="check", pipeline="temperature", trusted=Asset("trusted/t"))
    with pytest.raises(AirflowFailException, match="has no suite; write 'quality:"):
        check.execute(context())


def test_a_backfill_without_columns_fails_with_the_reason(layout: Platform) -> None:
    asked = context(params={"day": "2026-11-18"})
    with pytest.raises(AirflowFailException, match="no columns"):
        BackfillOperator(task_id="backfill", pipeline="temperature").execute(asked)


@pytest.mark.parametrize(
    ("form", "run_type", "day"),
    [
        ({"day": "2026-11-11"}, "manual", date(2026, 11, 11)),
        ({"day": None}, "backfill", date(2026, 11, 18)),
    ],
)
def test_the_day_is_the_forms_or_the_backfills(
    form: dict[str, Any], run_type: str, day: date
) -> None:
    run = SimpleNamespace(run_type=run_type)
    assert day_of(context(params=form, dag_run=run, logical_date=NIGHT)) == day


@pytest.mark.parametrize("run_type", ["scheduled", "manual"])
def test_a_run_for_no_day_is_skipped(run_type: str) -> None:
    run = SimpleNamespace(run_type=run_type)
    with pytest.raises(AirflowSkipException):
        day_of(context(params={"day": None}, dag_run=run, logical_date=NIGHT))


def test_a_replay_of_an_unknown_site_fails_with_those_there_are(layout: Platform) -> None:
    form = EMPTY_FORM | {"sites": ["plant-b"]}
    with pytest.raises(AirflowFailException, match="there are: plant-a"):
        ReplayOperator(task_id="look", dry_run=True).execute(context(params=form))


def test_a_form_with_times_and_offsets_fails_with_the_way_out(layout: Platform) -> None:
    form = EMPTY_FORM | {"since": "2026-11-18T08:00:00Z", "first_offset": 3}
    with pytest.raises(AirflowFailException, match="leave out one kind"):
        ReplayOperator(task_id="look", dry_run=True).execute(context(params=form))


def test_a_time_that_is_none_fails_with_what_to_write(layout: Platform) -> None:
    form = EMPTY_FORM | {"since": "yesterday"}
    with pytest.raises(AirflowFailException, match="yesterday"):
        ReplayOperator(task_id="look", dry_run=True).execute(context(params=form))


def test_a_time_of_the_form_is_utc_unless_it_says_otherwise() -> None:
    asked = ReplayForm.model_validate(EMPTY_FORM | {"since": "2026-11-18T08:00:00+01:00"}).request()
    assert asked.since == datetime(2026, 11, 18, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "missing", "why"),
    [({"dry_run": True}, 7, "dry run"), ({"dry_run": False}, 0, "nothing")],
)
def test_nobody_is_asked_where_there_is_nothing_to_decide(
    form: dict[str, Any], missing: int, why: str
) -> None:
    ti = SimpleNamespace(xcom_pull=lambda **_: {"missing": missing, "text": ""})
    with pytest.raises(AirflowSkipException, match=why):
        approve_replay().execute(context(params=form, ti=ti))


def test_a_task_that_a_person_ends_ends_its_job(layout: Platform) -> None:
    with pytest.raises(AirflowException, match="marked"):
        PlanMaintenanceOperator(task_id="plan", pipeline="temperature").on_kill()


def test_verify_tells_of_an_alarm_once_and_fails_each_night(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Spark job's answer stands for it: one alarm, night after night."""
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text("events_site: plant-a\n")
    ensure_bronze(layout.table("bronze", "temperature"))
    alarm = unreachable_alarm("plant-a", "no answer")
    result = ContinuityResult(parts=(), days=(), alarms=(alarm,))
    monkeypatch.setattr("millrace.repair.io.verify_run.verify", lambda *_: result)
    for _ in range(2):
        with pytest.raises(AirflowFailException, match="unreachable:plant-a"):
            VerifyOperator(task_id="verify", pipeline="temperature").execute(context())
    (told,) = Outbox(layout.outbox).ids()
    assert told.endswith("-site-silent-temperature-plant-a")
