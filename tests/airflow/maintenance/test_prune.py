"""The DAG `prune`, on an Airflow with old and new history."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.models.log import Log
from airflow.utils.session import create_session

from millrace.platform.core.platform import Platform
from millrace_airflow.base.host import AirflowFailException, AirflowSkipException
from millrace_airflow.maintenance import prune_operators
from millrace_airflow.maintenance.prune_operators import PruneDatabaseOperator, PruneLogsOperator
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY

NOW = datetime.now(UTC)


@pytest.fixture
def ours(layout: Platform) -> Platform:
    layout.airflow.mkdir(parents=True)
    (layout.airflow / "airflow.cfg").touch()
    return layout


def moments(event: str) -> list[datetime]:
    with create_session() as session:
        return [row.dttm for row in session.query(Log).filter(Log.event == event)]


@pytest.mark.usefixtures("database")
def test_rows_that_are_older_than_the_history_go_and_are_counted(
    ours: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task is kept from the database, which only Airflow's own file names then."""
    place = os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
    (ours.airflow / "airflow.cfg").write_text(f"[database]\nsql_alchemy_conn = {place}\n")
    with create_session() as session:
        for days in (100, 91, 89, 0):
            row = Log(event="of this test")
            row.dttm = NOW - timedelta(days=days)
            session.add(row)
    monkeypatch.setenv("AIRFLOW_HOME", str(ours.airflow))
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:///")
    monkeypatch.setenv("AIRFLOW__CORE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:///")
    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "client")
    told: dict[str, Any] = PruneDatabaseOperator(task_id="database").execute({})
    assert told["log"] == 2
    assert told["rows"] >= 2
    assert min(moments("of this test")) > NOW - timedelta(days=90)
    assert len(moments("of this test")) == 2


def test_log_files_that_are_older_than_the_history_go_with_their_folders(ours: Platform) -> None:
    logs = ours.airflow / "logs"
    old, new = logs / "dag_id=a/run_id=1/attempt=1.log", logs / "dag_id=a/run_id=2/attempt=1.log"
    for file, days in ((old, 91), (new, 89)):
        file.parent.mkdir(parents=True)
        file.write_text("four")
        written = (NOW - timedelta(days=days)).timestamp()
        for path in (file, file.parent):
            os.utime(path, (written, written))
    (logs / "latest").symlink_to(new.parent)
    told = PruneLogsOperator(task_id="logs").execute({})
    assert told == {"files": 1, "size_bytes": 4}
    assert not old.parent.exists()
    assert new.exists()
    assert (logs / "latest").exists()


def test_what_airflow_left_as_it_was_fails_the_task(
    ours: Platform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere = f"sqlite:///{tmp_path}/nowhere/airflow.db"
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", nowhere)
    with pytest.raises(AirflowFailException, match="airflow db clean"):
        PruneDatabaseOperator(task_id="database").execute({})


def test_an_airflow_that_others_set_up_is_left_alone(layout: Platform) -> None:
    for operator in (PruneDatabaseOperator, PruneLogsOperator):
        with pytest.raises(AirflowSkipException, match="did not set up"):
            operator(task_id="t").execute({})


def test_the_history_is_the_platforms(ours: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[datetime] = []
    week = replace(ours, history=timedelta(days=7))
    monkeypatch.setattr(prune_operators, "platform_here", lambda: week)
    monkeypatch.setattr(
        prune_operators, "prune_database", lambda _l, before, _p: asked.append(before) or {}
    )
    PruneDatabaseOperator(task_id="database").execute({})
    assert timedelta(0) <= (datetime.now(UTC) - timedelta(days=7)) - asked[0] < timedelta(minutes=1)


def test_it_runs_each_night(layout: Platform) -> None:
    dag = DagBag(dag_folder=REPOSITORY / "dags" / "prune.py").dags["prune"]
    assert sorted(task.task_id for task in dag.tasks) == ["database", "logs"]
    assert dag.max_active_runs == 1
