"""How a job's process ends, of any kind: what it says last, and its exit code. No session."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.base.errors import MillraceError
from millrace.jobs.core.heartbeat import Heartbeat, Phase
from millrace.jobs.io.generations import claim
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from spark_jobs.engine.fence import FencedError
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.engine.job_main import run_job
from spark_jobs.engine.jvm import JvmDiedError
from spark_jobs.engine.stopping import StopRequest
from tests.counting import CounterFile, plan_counter


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A job takes these for itself; the tests that come later are to get them back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def heartbeats(tmp_path: Path) -> HeartbeatWriter:
    job = plan_counter(CounterFile(name="c", step=1), Platform(tmp_path))
    return HeartbeatWriter(job.model_copy(update={"generation": 2}), lambda common: common)


def last_word(heartbeats: HeartbeatWriter) -> Heartbeat | None:
    return Mailbox(heartbeats.job.mailbox).read_heartbeat(Heartbeat)


def fails(error: Exception) -> Callable[[HeartbeatWriter, StopRequest], None]:
    def work(_pulse: HeartbeatWriter, _stop: StopRequest) -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "phase", "said"),
    [
        (FencedError("generation 3 took over from 2"), 0, Phase.FENCED, ""),
        (JvmDiedError(-9), 137, Phase.FAILED, "exit code 137"),
        (MillraceError("write this instead"), 1, Phase.FAILED, "write this instead"),
        (ZeroDivisionError("unexpected"), 1, Phase.FAILED, "unexpected"),
    ],
    ids=["fenced", "JVM", "user", "bug"],
)
def test_an_error_ends_the_job_with_its_word_and_code(
    heartbeats: HeartbeatWriter, error: Exception, code: int, phase: Phase, said: str
) -> None:
    assert run_job(heartbeats, fails(error)) == code
    word = last_word(heartbeats)
    assert word is not None
    assert (word.job, word.generation, word.phase) == ("c", 2, phase)
    assert said in word.error


def test_work_that_returns_was_stopped(heartbeats: HeartbeatWriter) -> None:
    phases: list[Phase] = []

    def work(heartbeats: HeartbeatWriter, stop: StopRequest) -> None:
        word = last_word(heartbeats)
        phases.append(word.phase if word else Phase.FAILED)
        stop.ask("SIGTERM")

    assert run_job(heartbeats, work) == 0
    word = last_word(heartbeats)
    assert word is not None
    assert [*phases, word.phase] == [Phase.STARTING, Phase.STOPPED]


@pytest.mark.parametrize("claimed", [2, 3])
def test_a_generation_that_is_taken_does_no_work_and_says_nothing(
    heartbeats: HeartbeatWriter, claimed: int
) -> None:
    claim(heartbeats.job.generations_dir, claimed)
    assert run_job(heartbeats, fails(AssertionError("it worked"))) == 0
    assert last_word(heartbeats) is None
