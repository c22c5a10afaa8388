"""The DAGs of tasks: which there are, what they look like, what their forms refuse."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.platform.core.platform import Platform
from millrace.settings.core.task_pool import POOL
from millrace.tasks.core.schedule import nightly
from millrace_airflow.base.host import (
    AssetOrTimeSchedule,
    CronTriggerTimetable,
    ParamValidationError,
)
from millrace_airflow.quality.commit_trigger import NewRowsTrigger
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REFINED, REPOSITORY


def dags(file: str) -> dict[str, Any]:
    found = DagBag(dag_folder=REPOSITORY / "dags" / file, safe_mode=True)
    assert found.import_errors == {}
    return dict(found.dags)


def shape(dag: Any) -> dict[str, set[str]]:
    return {task.task_id: set(task.downstream_task_ids) for task in dag.tasks}


@pytest.fixture
def refined(layout: Platform) -> Platform:
    (layout.pipelines / "temperature.yaml").write_text(REFINED)
    layout.expectations.mkdir()
    suite = (REPOSITORY / "expectations" / "silver_temperature.json").read_text()
    (layout.expectations / "silver_temperature.json").write_text(suite)
    return layout


def test_maintenance_is_planned_before_it_is_done(layout: Platform) -> None:
    dag = dags("maintain.py")["maintain.temperature"]
    assert shape(dag) == {
        "plan": {"retention"},
        "retention": {"compact"},
        "compact": {"vacuum"},
        "vacuum": set(),
    }
    assert {task.pool for task in dag.tasks} == {POOL}
    assert dag.params["drop_held"] is False


def test_a_pipeline_without_columns_has_nothing_to_judge_or_to_make_anew(layout: Platform) -> None:
    assert dags("quality.py") == {}
    assert dags("backfill.py") == {}


def test_quality_runs_when_rows_came_and_each_night_and_gates_an_asset(refined: Platform) -> None:
    dag = dags("quality.py")["quality.temperature"]
    (check,) = dag.tasks
    assert [asset.name for asset in check.outlets] == ["trusted/temperature"]
    assert isinstance(dag.timetable, AssetOrTimeSchedule)
    assert dag.timetable.timetable == CronTriggerTimetable("28 1 * * *", timezone="UTC")
    (watcher,) = dag.timetable.asset_condition.watchers
    assert isinstance(watcher.trigger, NewRowsTrigger)


def test_a_backfill_has_a_day_for_each_run(refined: Platform) -> None:
    dag = dags("backfill.py")["backfill.temperature"]
    assert dag.max_active_runs == 1
    assert shape(dag) == {"backfill": set()}


def test_a_replay_asks_a_person_between_looking_and_adding(refined: Platform) -> None:
    assert shape(dags("replay.py")["replay"]) == {
        "look": {"approve"},
        "approve": {"add"},
        "add": set(),
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"pipeline": "vibration"},
        {"source": "tape"},
        {"sites": ["plant-z"]},
        {"partitions": [-1]},
        {"first_offset": "ten"},
        {"dry_run": "perhaps"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_form_refuses_what_cannot_be(layout: Platform, wrong: dict[str, object]) -> None:
    params = dags("replay.py")["replay"].params
    (name,) = wrong
    with pytest.raises(ParamValidationError):
        params.get_param(name).resolve(wrong[name])


def test_no_field_of_the_form_is_hidden_and_each_explains_itself(layout: Platform) -> None:
    params = dags("replay.py")["replay"].params
    for name in params:
        param = params.get_param(name)
        assert param.schema["title"]
        assert param.description
        assert "section" not in param.schema


def test_no_pipeline_no_replay(layout: Platform) -> None:
    (layout.pipelines / "temperature.yaml").unlink()
    assert dags("replay.py") == {}


def test_verify_runs_each_night_beside_no_other_spark_job(layout: Platform) -> None:
    dag = dags("verify.py")["verify.temperature"]
    assert shape(dag) == {"verify": set()}
    assert {task.pool for task in dag.tasks} == {POOL}
    assert dag.timetable == CronTriggerTimetable(nightly("verify.temperature"), timezone="UTC")
