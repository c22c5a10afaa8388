"""Where a runner's jobs run, for one set of tests over all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copy
from typing import Protocol

import psutil

from millrace.base.addresses import LOCAL_NAMES
from millrace.jobs.core.spec import JobSpec, JobState, Runner
from millrace.jobs.io.runners.emr_serverless import EmrServerlessRunner
from millrace.jobs.io.runners.kubernetes import KubernetesRunner
from millrace.jobs.io.runners.local_runner import LocalRunner
from millrace.jobs.io.runners.remote_runner import RemoteRunner
from millrace.platform.core.platform import Platform
from millrace.processes.core.supervisor_config import render_config
from millrace.processes.io.process_table import JOB_VARIABLE, end_marked, find_marked
from millrace.processes.io.stack_identity import ensure_stack_marks, stack_environment
from millrace.processes.io.supervisor import Supervisor
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.settings.core.remotes import EmrServerlessSettings, KubernetesSettings, Remotes
from millrace.storage.io.files import write_atomic
from tests import counting
from tests.counting import CounterFile, CountSpec, plan_counter
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.services.emr_service import ROLE, Runs
from tests.integration.stands.services.https_service import Asked, HttpsService
from tests.integration.stands.services.kube_service import TOKEN, Cluster
from tests.integration.stands.services.stand_in import JOB, StandIn
from tests.support import wait_until

REPOSITORY = Path(__file__).resolve().parents[4]
PIPELINE = "stand-in"


class Place(Protocol):
    """A runner's own world, and what tests may do to it."""

    layout: Platform

    def runner(self) -> Runner:
        """One that knows nothing but what was written down."""

    def job(self) -> CountSpec: ...

    def jobs(self) -> list[psutil.Process]:
        """Those that run now."""

    def start_and_die(self, job: JobSpec) -> None:
        """Whoever starts the job is gone before the answer comes."""

    @contextmanager
    def away(self) -> Iterator[None]:
        """What runs the jobs cannot be asked; the jobs go on."""


def plan_stand_in(layout: Platform, mailbox: str) -> CountSpec:
    """A job of a kind that no runner knows; its program is the stand-in below."""
    changes = {"fingerprint": "f1", "mailbox": mailbox, "entry_point": "stand_in"}
    return plan_counter(CounterFile(name=PIPELINE, step=3), layout).model_copy(update=changes)


def as_counter(job: CountSpec, home: Path) -> CountSpec:
    """The same with the program of its kind, which keeps the whole protocol of a job."""
    copy(counting.__file__, home / "counting.py")
    return job.model_copy(update={"entry_point": "counting"})


@dataclass
class LocalPlace:
    layout: Platform

    @classmethod
    @contextmanager
    def opened(cls, home: Path) -> Iterator[LocalPlace]:
        layout = Platform(home)
        for folder in (layout.logs, layout.run, layout.home / "infra", layout.lake_python.parent):
            folder.mkdir(parents=True)
        copy(REPOSITORY / "infra" / "run-job.sh", layout.home / "infra")
        # A link would be a Python without this environment's packages.
        layout.lake_python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        layout.lake_python.chmod(0o700)
        (layout.home / "stand_in.py").write_text(JOB)
        write_atomic(layout.supervisor_config, render_config([], layout))
        place = cls(layout)
        place.start_supervisord()
        yield place
        end_marked(ensure_stack_marks(layout), grace_s=0)

    def start_supervisord(self) -> None:
        command = (REPOSITORY / ".venv/bin/supervisord", "-c", self.layout.supervisor_config)
        subprocess.run(command, env=stack_environment(self.layout), check=True)
        wait_until(lambda: self._supervisor.pid() is not None)

    def kill_supervisord(self) -> None:
        pid = self._supervisor.pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.runner().status(PIPELINE).state == JobState.UNKNOWN)

    def runner(self) -> LocalRunner:
        return LocalRunner(self.layout)

    def job(self) -> CountSpec:
        return plan_stand_in(self.layout, str(self.layout.job(PIPELINE)))

    def processes(self) -> list[psutil.Process]:
        """Of jobs: the wrapper that tells how one ended, the job, its child."""
        return find_marked({**ensure_stack_marks(self.layout), JOB_VARIABLE: PIPELINE})

    def jobs(self) -> list[psutil.Process]:
        found = self.processes()
        wrappers = {one.pid for one in found if one.cmdline()[0].endswith("sh")}
        return [one for one in found if one.ppid() in wrappers]

    def start_and_die(self, job: JobSpec) -> None:
        code = (
            "import sys; from pathlib import Path; from millrace.jobs.core.spec import JobSpec;"
            "from millrace.platform.core.platform import Platform;"
            "from millrace.jobs.io.runners.local_runner import LocalRunner;"
            "LocalRunner(Platform(Path(sys.argv[1]))).start(JobSpec.model_validate_json(sys.argv[2]))"
        )
        caller = subprocess.Popen(
            [sys.executable, "-c", code, self.layout.home, job.model_dump_json()]
        )
        wait_until(self.jobs)
        caller.kill()
        caller.wait()

    @contextmanager
    def away(self) -> Iterator[None]:
        socket = self.layout.supervisor_socket
        aside = socket.rename(socket.with_name("aside"))
        try:
            yield
        finally:
            aside.rename(socket)

    @property
    def _supervisor(self) -> Supervisor:
        return Supervisor(self.layout.supervisor_socket)


@dataclass
class RemotePlace:
    """A service over HTTPS beside a real object store."""

    layout: Platform
    make: type[RemoteRunner]
    service: HttpsService
    # Of all runs, by the service's own names.
    processes: dict[str, StandIn]
    # Of a request to start a job.
    starts_at: str = field(kw_only=True)

    @contextmanager
    def running(self) -> Iterator[RemotePlace]:
        (self.layout.home / "stand_in.py").write_text(JOB)
        self.service.start()
        try:
            yield self
        finally:
            self.service.stop()
            for process in self.processes.values():
                process.kill()

    def runner(self) -> RemoteRunner:
        runner = self.make(self.layout)
        runner.poll_s = 0.05
        return runner

    def job(self) -> CountSpec:
        return plan_stand_in(self.layout, self.layout.shared_mailbox(PIPELINE))

    def jobs(self) -> list[psutil.Process]:
        live = [one for one in self.processes.values() if one.exit_code is None]
        return [psutil.Process(one.process.pid) for one in live]

    def start_and_die(self, job: JobSpec) -> None:
        self.service.loses = self._is_start
        try:
            self.runner().start(job)
        except Exception:
            return
        finally:
            self.service.loses = lambda _: False
        raise AssertionError("the answer was to be lost")

    @contextmanager
    def away(self) -> Iterator[None]:
        self.service.stop()
        try:
            yield
        finally:
            self.service.start()

    def _is_start(self, asked: Asked) -> bool:
        return asked.method == "POST" and asked.path.startswith(self.starts_at)


def emr_serverless(home: Path, store: RunningStore) -> RemotePlace:
    layout, certificate, key = _beside(store, home)
    assert layout.bucket
    runs = Runs(home, layout.bucket)
    application = runs.create_application()
    service = HttpsService(runs.answer, certificate, key)
    settings = EmrServerlessSettings(
        application=application,
        role=ROLE,
        home=home,
        endpoint=service.url,
        ca_file=store.bucket.ca_file,
        credentials_file=store.bucket.credentials_file,
    )
    return RemotePlace(
        replace(layout, remotes=Remotes(emr_serverless=settings)),
        EmrServerlessRunner,
        service,
        runs.processes,
        starts_at=f"/applications/{application}/jobruns",
    )


def kubernetes(home: Path, store: RunningStore) -> RemotePlace:
    layout, certificate, key = _beside(store, home)
    cluster = Cluster(home)
    service = HttpsService(cluster.answer, certificate, key)
    token = home / "token"
    token.write_text(TOKEN + "\n")
    settings = KubernetesSettings(
        namespace="millrace",
        image="millrace:test",
        service_account="spark",
        secret="logins",
        home=home,
        api_server=service.url,
        token_file=token,
        ca_file=store.layout.ca,
    )
    return RemotePlace(
        replace(layout, remotes=Remotes(kubernetes=settings)),
        KubernetesRunner,
        service,
        cluster.processes,
        starts_at="/apis/sparkoperator.k8s.io/",
    )


def _beside(store: RunningStore, home: Path) -> tuple[Platform, Path, Path]:
    """A stack of its own in the store that all tests share."""
    bucket = store.bucket.model_copy(update={"prefix": f"runners/{home.name}"})
    certificate, key = ensure_server_certificate(store.layout, "service", LOCAL_NAMES)
    return Platform(home, bucket=bucket), certificate, key
