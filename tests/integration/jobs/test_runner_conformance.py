"""What every runner promises: the same tests over all of them, with a job that needs no Spark.

The job is of a kind that no runner knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millrace.base.errors import TransientError
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.core.spec import JobState
from millrace.jobs.io import generations
from millrace.jobs.io.mailbox import Mailbox
from tests.counting import CountBeat, CountSpec, count_in
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.services.runner_places import (
    PIPELINE,
    LocalPlace,
    Place,
    RemotePlace,
    as_counter,
    emr_serverless,
    kubernetes,
)
from tests.support import wait_until

REMOTE = {"emr-serverless": emr_serverless, "kubernetes": kubernetes}


@pytest.fixture(params=["local", *REMOTE])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":
        with LocalPlace.opened(tmp_path) as local:
            yield local
        return
    with _remote(request, tmp_path, REMOTE[request.param]) as remote:
        yield remote


def _remote(
    request: pytest.FixtureRequest,
    home: Path,
    make: Callable[[Path, RunningStore], RemotePlace],
):
    return make(home, request.getfixturevalue("store")).running()


def has_begun(place: Place) -> bool:
    place.runner().status(PIPELINE)
    return "started" in place.runner().log_tail(PIPELINE, 10)


def state(place: Place) -> JobState:
    return place.runner().status(PIPELINE).state


def mailbox(place: Place) -> Mailbox:
    return Mailbox(place.job().mailbox, place.layout.bucket)


def counts_as(place: Place, generation: int) -> bool:
    beat = mailbox(place).read_heartbeat(CountBeat)
    return beat is not None and (beat.generation, beat.phase) == (generation, Phase.RUNNING)


def claim(place: Place, generation: int) -> bool:
    return generations.claim(place.layout.generations(PIPELINE), generation, place.layout.bucket)


def test_a_job_never_started_is_absent(place: Place) -> None:
    assert state(place) == JobState.ABSENT
    assert place.runner().log_tail(PIPELINE, 10) == []


def test_a_start_is_above_all_generations_that_were_claimed(place: Place) -> None:
    claim(place, 7)
    status = place.runner().start(place.job())
    assert (status.state, status.generation) == (JobState.RUNNING, 8)
    assert status.fingerprint == "f1"
    wait_until(lambda: has_begun(place))
    place.runner().stop(PIPELINE, timeout_s=15)
    # 8 was never claimed, yet it may still wake up.
    assert place.runner().start(place.job()).generation == 9


def test_a_second_start_returns_the_job_that_runs(place: Place) -> None:
    first = place.runner().start(place.job())
    changed = place.job().model_copy(update={"fingerprint": "f2"})
    second = place.runner().start(changed)
    assert (second.generation, second.fingerprint) == (first.generation, "f1")
    wait_until(lambda: has_begun(place))
    assert len(place.jobs()) == 1


def test_starts_at_once_make_one_job(place: Place) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(lambda _: place.runner().start(place.job()), range(4)))
    assert {status.generation for status in started} == {1}
    wait_until(lambda: has_begun(place))
    assert len(place.jobs()) == 1


@pytest.mark.parametrize("claimed", [False, True], ids=["before its claim", "after its claim"])
def test_a_start_whose_answer_was_lost_doubles_nothing(place: Place, *, claimed: bool) -> None:
    place.start_and_die(place.job())
    assert len(place.jobs()) == 1
    if claimed:
        claim(place, 1)
    status = place.runner().start(place.job())
    assert (status.state, status.generation) == (JobState.RUNNING, 1)
    assert len(place.jobs()) == 1
    # Whoever wrote it down again knows no kind, and has kept what belongs to it.
    assert mailbox(place).read_job(CountSpec) is not None


def test_a_job_whose_start_was_lost_can_be_stopped(place: Place) -> None:
    place.start_and_die(place.job())
    assert place.runner().stop(PIPELINE, timeout_s=15).state == JobState.STOPPED
    assert place.jobs() == []


def test_a_stopped_job_finishes_its_batch(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    status = place.runner().stop(PIPELINE, timeout_s=20)
    assert (status.state, status.generation) == (JobState.STOPPED, 1)
    assert (place.layout.home / "finished").exists()
    assert place.jobs() == []


def test_a_job_that_does_not_stop_is_killed_after_the_timeout(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    place.jobs()[0].suspend()
    assert place.runner().stop(PIPELINE, timeout_s=0.5).state == JobState.STOPPED
    assert place.jobs() == []


def test_a_stop_of_what_is_not_there_changes_nothing(place: Place) -> None:
    assert place.runner().stop(PIPELINE, timeout_s=1).state == JobState.ABSENT
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    place.runner().stop(PIPELINE, timeout_s=15)
    assert place.runner().stop(PIPELINE, timeout_s=1).state == JobState.STOPPED


def test_the_last_lines_of_a_log_are_told_oldest_first(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    assert place.runner().log_tail(PIPELINE, 2) == ["read its specification", "started"]
    assert place.runner().log_tail(PIPELINE, 1) == ["started"]


def test_a_job_that_dies_is_dead_with_its_exit_code_and_keeps_its_log(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    place.jobs()[0].kill()
    wait_until(lambda: state(place) == JobState.DEAD)
    status = place.runner().status(PIPELINE)
    assert (status.exit_code, status.generation) == (137, 1)
    assert status.since is not None
    assert "started" in place.runner().log_tail(PIPELINE, 5)


def test_a_start_after_a_death_is_the_next_generation(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    claim(place, 1)
    place.jobs()[0].kill()
    wait_until(lambda: state(place) == JobState.DEAD)
    status = place.runner().start(place.job())
    assert (status.state, status.generation) == (JobState.RUNNING, 2)


def test_a_job_that_cannot_be_seen_is_neither_dead_nor_started_again(place: Place) -> None:
    place.runner().start(place.job())
    wait_until(lambda: has_begun(place))
    with place.away():
        status = place.runner().status(PIPELINE)
        assert (status.state, status.generation) == (JobState.UNKNOWN, 1)
        assert place.runner().stop(PIPELINE, timeout_s=0).state == JobState.UNKNOWN
        with pytest.raises(TransientError):
            place.runner().start(place.job())
    assert state(place) == JobState.RUNNING
    assert len(place.jobs()) == 1


def test_a_job_of_another_kind_works_dies_and_ends_as_any(place: Place) -> None:
    job = as_counter(place.job(), place.layout.home)
    place.runner().start(job)
    wait_until(lambda: counts_as(place, generation=1))
    place.jobs()[0].kill()
    wait_until(lambda: state(place) == JobState.DEAD)
    counted = count_in(job)
    assert place.runner().start(job).generation == 2
    wait_until(lambda: counts_as(place, generation=2) and count_in(job) > counted)
    assert place.runner().stop(PIPELINE, timeout_s=15).state == JobState.STOPPED
    beat = mailbox(place).read_heartbeat(CountBeat)
    assert beat is not None
    assert (beat.phase, beat.count) == (Phase.STOPPED, count_in(job))
    assert beat.count % job.step == 0
