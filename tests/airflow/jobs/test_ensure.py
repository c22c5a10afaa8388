"""What is done for a job, given how it is found."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import pytest

from millrace.base.errors import MillraceError
from millrace.deployments.io.keeper import BudgetUsedUpError, Keeper, utc_now
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.spec import JobState
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from tests.airflow.fakes import InMemoryRunner


def keeper(layout: Platform, later_s: float = 0) -> Keeper:
    def clock() -> datetime:
        return utc_now() + timedelta(seconds=later_s)

    return Keeper(read_deployment(layout, "temperature"), layout, clock)


def use_up_the_budget(layout: Platform) -> None:
    """A start and two restarts, with the pauses between them; it is dead at the end."""
    for number in range(3):
        keeper(layout, later_s=60 * number).ensure()
        InMemoryRunner.die("temperature", exit_code=1)


def edit(layout: Platform, old: str, new: str) -> None:
    file = layout.pipelines / "temperature.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_two_ensures_are_one_start(layout: Platform) -> None:
    first, second = keeper(layout).ensure(), keeper(layout).ensure()
    assert InMemoryRunner.calls == ["start"]
    assert (first.verb, second.verb) == ("started", "adopted")
    assert len(Mailbox(layout.job("temperature")).read_starts()) == 1


def test_changed_files_stop_the_job_before_they_start_it_anew(layout: Platform) -> None:
    keeper(layout).ensure()
    edit(layout, "temperature-data", "other-data")
    outcome = keeper(layout).ensure()
    assert InMemoryRunner.calls == ["start", "stop", "start"]
    assert (outcome.verb, outcome.status.generation) == ("replaced", 2)


def test_a_replaced_job_is_no_failure(layout: Platform) -> None:
    keeper(layout).ensure()
    edit(layout, "temperature-data", "other-data")
    keeper(layout).ensure()
    assert [s.failure for s in Mailbox(layout.job("temperature")).read_starts()] == [False, False]


def test_a_dead_job_is_started_and_its_end_is_told(
    layout: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    keeper(layout).ensure()
    InMemoryRunner.die("temperature", exit_code=137)
    assert keeper(layout).ensure().status.state == JobState.RUNNING
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert "exit 137" in told[0]
    assert any("OutOfMemoryError" in line for line in told)


def test_the_budget_ends_restarts(layout: Platform) -> None:
    use_up_the_budget(layout)
    with pytest.raises(BudgetUsedUpError, match=r"exit 1[\s\S]*OutOfMemoryError"):
        keeper(layout).ensure()
    assert InMemoryRunner.calls == ["start"] * 3


def test_a_job_that_dies_at_once_again_waits_for_its_turn(layout: Platform) -> None:
    for _ in range(3):
        outcome = keeper(layout).ensure()
        InMemoryRunner.die("temperature", exit_code=1)
    assert (outcome.verb, InMemoryRunner.calls) == ("left waiting", ["start", "start"])
    assert keeper(layout, later_s=60).ensure().verb == "started"


def test_a_runner_that_is_not_installed_is_named_with_those_that_are(layout: Platform) -> None:
    edit(layout, "runner: memory", "runner: mainframe")
    with pytest.raises(MillraceError, match=r"'mainframe'.*memory"):
        keeper(layout)
