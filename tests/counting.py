"""A kind of job beside ingest: it counts, reads no topic, and needs no Spark.

All of it is in this file: specification, deployment, heartbeat, provisioning and the program. Tests
install it as any package would bring a kind.
"""

from __future__ import annotations

import fcntl
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict

from millrace.base.model import Frozen
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat, Phase
from millrace.jobs.core.remote_jobs import plan_where_it_runs
from millrace.jobs.core.spec import JobSpec, fingerprint, plan_engine
from millrace.jobs.io import generations
from millrace.jobs.io.mailbox import Mailbox
from millrace.jobs.io.spec_file import read_spec
from millrace.pipelines.core.spec import REMOTE_RUNNERS, Supervise
from millrace.platform.core.platform import Platform
from millrace.specs.spec_files import load_file
from millrace.storage.core.bucket import SCHEME, Bucket
from millrace.storage.io.objects import Objects, objects_at

COUNTING = "counting"
_COUNT = "count"


class CountSpec(JobSpec):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["counting"] = "counting"
    noun: Literal["counter"] = "counter"
    step: int
    # How long it is starting, and stopping.
    pause_s: float
    checkpoint: str


class CountBeat(Heartbeat):
    model_config = ConfigDict(extra="forbid")

    count: int
    counted_at: datetime

    @property
    def worked_at(self) -> datetime:
        return self.counted_at

    def figures(self) -> dict[str, str]:
        return {"count": str(self.count)}


class CounterFile(Frozen):
    """What stands in `dags/counters/<name>.yaml`."""

    name: str
    step: int
    pause_s: float = 0.0
    runner: str = "local"
    supervise: Supervise = Supervise()


class CounterDeployment(Deployment):
    kind: Literal["counting"] = "counting"
    file: CounterFile

    @property
    def id(self) -> str:
        return self.file.name

    @property
    def runner(self) -> str:
        return self.file.runner

    @property
    def supervise(self) -> Supervise:
        return self.file.supervise

    def job(self, layout: Platform) -> CountSpec:
        return plan_where_it_runs(self._plan, self.runner, layout)

    def _plan(self, layout: Platform) -> CountSpec:
        return plan_counter(self.file, layout)


def plan_counter(file: CounterFile, layout: Platform, entry_point: str = "counting") -> CountSpec:
    job = CountSpec(
        id=file.name,
        entry_point=entry_point,
        step=file.step,
        pause_s=file.pause_s,
        checkpoint=layout.checkpoints(file.name),
        mailbox=layout.mailbox(file.name, is_remote=file.runner in REMOTE_RUNNERS),
        generations_dir=layout.generations(file.name),
        engine=plan_engine("64m", layout),
    )
    return job.model_copy(update={"fingerprint": fingerprint(job)})


class CountingKind:
    deployment = CounterDeployment
    beat = CountBeat

    def read(self, layout: Platform, job_id: str) -> CounterDeployment:
        (file,) = self.files(layout, job_id)
        return CounterDeployment(file=load_file(file, CounterFile), bucket=layout.bucket)

    def files(self, layout: Platform, job_id: str) -> list[Path]:
        return [layout.dags / "counters" / f"{job_id}.yaml"]

    def provision(
        self,
        deployment: CounterDeployment,
        layout: Platform,
        *,
        last_try: bool,  # noqa: ARG002 - it asks no other machine, so no try can fail for a while
    ) -> list[str]:
        place = objects_at(layout.checkpoints(deployment.id), layout.bucket)
        return [f"{deployment.id} counts from 0"] if place.put_new(_COUNT, "0") else []

    def dag_id(self, job_id: str) -> str:
        return f"counting.{job_id}"


def count_in(spec: CountSpec) -> int:
    return int(_checkpoint(spec).read(_COUNT) or 0)


def _checkpoint(spec: CountSpec) -> Objects:
    return objects_at(spec.checkpoint, spec.engine.bucket)


@dataclass
class Counter:
    """The protocol of every job: claim, heartbeat, fence, graceful stop."""

    spec: CountSpec
    stop: threading.Event
    count: int = 0

    def run(self) -> Phase:
        if not generations.claim(self._place, self.spec.generation, self._bucket):
            return Phase.FENCED
        self.count = count_in(self.spec)
        self._say(Phase.STARTING)
        time.sleep(self.spec.pause_s)
        with self._alone():
            return self._say(self._count_on())

    def _count_on(self) -> Phase:
        """Until a person wants it to end, or a newer generation has begun."""
        while not self.stop.wait(0.1):
            if generations.latest(self._place, self._bucket) > self.spec.generation:
                return Phase.FENCED
            self.count += self.spec.step
            _checkpoint(self.spec).put(_COUNT, str(self.count))
            self._say(Phase.RUNNING)
        self._say(Phase.STOPPING)
        time.sleep(self.spec.pause_s)
        return Phase.STOPPED

    def _say(self, phase: Phase) -> Phase:
        now = datetime.now(UTC)
        beat = CountBeat(
            job=self.spec.id,
            generation=self.spec.generation,
            fingerprint=self.spec.fingerprint,
            phase=phase,
            at=now,
            count=self.count,
            counted_at=now,
        )
        Mailbox(self.spec.mailbox, self._bucket).write_heartbeat(beat)
        return phase

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two that count at once on one machine leave the file `doubled`."""
        if self.spec.mailbox.startswith(SCHEME):
            yield
            return
        folder = Path(self.spec.mailbox)
        with (folder / "alone.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                (folder / "doubled").write_text(f"generation {self.spec.generation}")
                raise
            yield

    @property
    def _place(self) -> str:
        return self.spec.generations_dir

    @property
    def _bucket(self) -> Bucket | None:
        return self.spec.engine.bucket


def main() -> int:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    phase = Counter(CountSpec.model_validate_json(read_spec(sys.argv[1:])), stop).run()
    sys.stdout.write(f"ended: {phase}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
