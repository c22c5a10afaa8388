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
from spark_jobs.engine.heartbeat_writer import Pulse
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
def pulse(tmp_path: Path) -> Pulse:
    job = plan_counter(CounterFile(name="c", step=1), Platform(tmp_path))
    return Pulse(job.model_copy(update={"generation": 2}), lambda common: common)


def last_word(pulse: Pulse) -> Heartbeat | None:
    return Mailbox(pulse.job.mailbox).read_heartbeat(Heartbeat)


def fails(error: Exception) -> Callable[[Pulse, StopRequest], None]:
    def work(_pulse: Pulse, _stop: StopRequest) -> None:
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
    pulse: Pulse, error: Exception, code: int, phase: Phase, said: str
) -> None:
    assert run_job(pulse, fails(error)) == code
    word = last_word(pulse)
    assert word is not None
    assert (word.job, word.generation, word.phase) == ("c", 2, phase)
    assert said in word.error


def test_work_that_returns_was_stopped(pulse: Pulse) -> None:
    phases: list[Phase] = []

    def work(pulse: Pulse, stop: StopRequest) -> None:
        word = last_word(pulse)
        phases.append(word.phase if word else Phase.FAILED)
        stop.ask("SIGTERM")

    assert run_job(pulse, work) == 0
    word = last_word(pulse)
    assert word is not None
    assert [*phases, word.phase] == [Phase.STARTING, Phase.STOPPED]


@pytest.mark.parametrize("claimed", [2, 3])
def test_a_generation_that_is_taken_does_no_work_and_says_nothing(
    pulse: Pulse, claimed: int
) -> None:
    claim(pulse.job.generations_dir, claimed)
    assert run_job(pulse, fails(AssertionError("it worked"))) == 0
    assert last_word(pulse) is None
