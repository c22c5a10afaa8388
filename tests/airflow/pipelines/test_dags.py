"""What Airflow finds in dags/."""

from __future__ import annotations

import pytest
from airflow.timetables.base import TimeRestriction
from airflow.timetables.simple import ContinuousTimetable

from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.io.deployments import remember
from millrace.platform.core.platform import Platform
from millrace_airflow.pipelines.dag_factory import build_dag, dags_of_pipelines
from tests.airflow.bag import DagBag
from tests.airflow.conftest import PIPELINE, REPOSITORY


def bag(file: str) -> DagBag:
    return DagBag(dag_folder=REPOSITORY / "dags" / file, safe_mode=True)


def add_pipeline(layout: Platform, name: str, text: str) -> None:
    (layout.pipelines / f"{name}.yaml").write_text(text)


def test_the_dags_of_this_repository_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(REPOSITORY))
    found = DagBag(dag_folder=REPOSITORY / "dags", safe_mode=True)
    assert found.import_errors == {}
    assert "pipeline.temperature" in found.dags


def test_a_pipeline_is_provisioned_then_deployed_then_supervised(layout: Platform) -> None:
    dag = bag("pipelines.py").dags["pipeline.temperature"]
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "provision": {"deploy"},
        "deploy": {"supervise"},
        "supervise": set(),
    }


def test_a_pipeline_runs_by_itself_once_at_a_time(layout: Platform) -> None:
    dag = bag("pipelines.py").dags["pipeline.temperature"]
    assert (dag.schedule, dag.max_active_runs, dag.catchup) == ("@continuous", 1, False)
    assert dag.is_paused_upon_creation is False


def test_a_broken_file_takes_no_other_dag_away(layout: Platform) -> None:
    add_pipeline(layout, "vibration", "name: vibration\n")
    found = bag("pipelines.py")
    assert (list(found.dags), found.import_errors) == (["pipeline.temperature"], {})


def test_a_broken_file_shows_as_an_import_error_that_names_it(layout: Platform) -> None:
    add_pipeline(
        layout, "vibration", PIPELINE.replace("temperature", "vibration") + "colour: red\n"
    )
    (message,) = bag("check_files.py").import_errors.values()
    assert "vibration.yaml:8" in message
    assert "colour" in message


def test_a_site_of_events_that_is_gone_shows_as_an_import_error(layout: Platform) -> None:
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text("events_site: plant-z\n")
    (message,) = bag("check_files.py").import_errors.values()
    assert "events_site" in message
    assert "plant-a" in message


def test_good_files_are_no_import_error(layout: Platform) -> None:
    assert bag("check_files.py").import_errors == {}


def test_the_dag_of_a_pipeline_stays_when_its_file_breaks(layout: Platform) -> None:
    remember(layout, read_deployment(layout, "temperature"))
    add_pipeline(layout, "temperature", "name: [")
    assert list(bag("pipelines.py").dags) == ["pipeline.temperature"]


def test_a_task_reads_no_dag_but_its_own(layout: Platform) -> None:
    add_pipeline(layout, "vibration", PIPELINE.replace("name: temperature", "name: vibration"))
    found = dags_of_pipelines(layout, "pipeline", build_dag, only="pipeline.vibration")
    assert list(found) == ["pipeline.vibration"]


def test_a_dag_tells_an_operator_how_to_stop_it(layout: Platform) -> None:
    doc = bag("pipelines.py").dags["pipeline.temperature"].doc_md
    assert "pause" in doc
    assert "dags/pipelines/temperature.yaml" in doc


def test_a_run_after_the_first_has_a_date_of_its_own(layout: Platform) -> None:
    dag = bag("pipelines.py").dags["pipeline.temperature"]
    timetable = ContinuousTimetable()
    limits = TimeRestriction(dag.start_date, None, catchup=False)
    first = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=limits)
    second = timetable.next_dagrun_info(
        last_automated_data_interval=first.data_interval, restriction=limits
    )
    assert first.logical_date != second.logical_date
