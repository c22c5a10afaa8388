"""`up`: from nothing to a healthy stack, as much at once as can be."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from millrace.base.errors import MillraceError
from millrace.jobs.core.heartbeat import Heartbeat, Phase
from millrace.jobs.io.mailbox import open_mailbox
from millrace.jobs.io.runners.local_runner import program_name
from millrace.pipelines.core.spec import PipelineSpec
from millrace.processes.core.program import Program
from millrace.processes.core.supervisor_config import render_config
from millrace.processes.io.stack_identity import stack_environment
from millrace.processes.io.supervisor import Supervisor
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.beat_files import read_relay_beat
from millrace.schemas.core.registry import NAME as REGISTRY
from millrace.schemas.io.local_registry import fill
from millrace.schemas.io.local_registry import is_open as registry_is_open
from millrace.settings.core.spark_cluster import MASTER
from millrace.sites.core.spec import SiteSpec
from millrace.stack.io.airflow import airflow_server, postgres
from millrace.stack.io.brokers.grow import forget_added
from millrace.stack.io.brokers.opening import has_relays, has_users
from millrace.stack.io.checks import check_machine, check_path, check_ports, open_var
from millrace.stack.io.exclusive import only_one_at_work
from millrace.stack.io.leftovers import end_leftovers
from millrace.stack.io.local_cluster import is_ready
from millrace.stack.io.object_store import check_bucket, is_open
from millrace.stack.io.outside import write_down_outside
from millrace.stack.io.prepare import Task, prepare
from millrace.stack.io.progress import Progress
from millrace.stack.io.stack_plan import StackPlan, broker_program, relay_program
from millrace.stack.io.waiting import Patience, UnwellError
from millrace.storage.core.store_server import NAME as STORE
from millrace.storage.io.files import write_atomic

_BROKER_S, _DATABASE_S, _AIRFLOW_S, _PIPELINE_S, _SIMULATOR_S = 120, 60, 240, 240, 30
_REGISTRY_S = 120
_STORE_S = _CLUSTER_S = _RELAY_S = 60


def up(plan: StackPlan, progress: Progress) -> None:
    check_path(plan.layout)
    check_machine(plan.layout)
    open_var(plan.layout)
    with only_one_at_work(plan.layout, "up"), progress.shown():
        end_leftovers(plan.layout, progress)
        check_ports(plan)
        _Ascent(plan, progress).climb()


class _Ascent:
    """One stack on its way up."""

    def __init__(self, plan: StackPlan, progress: Progress) -> None:
        self._plan = plan
        self._layout = plan.layout
        self._progress = progress
        self._began = datetime.now(UTC)
        self._environment = stack_environment(plan.layout)
        self._supervisor = Supervisor(plan.layout.supervisor_socket)
        self._patience = Patience(self._supervisor)

    def climb(self) -> None:
        components = self._prepare()
        self._start_supervisor()
        self._open_store()
        self._open_cluster()
        sites = [partial(self._raise_site, site) for site in self._plan.local_sites]
        clusters = [partial(self._raise_cluster, one) for one in self._plan.local_clusters]
        others = [partial(self._raise_airflow, components), partial(self._open_registry)]
        self._patience.all_of([*others, *sites, *clusters])
        self._start_relays()
        pipelines = self._plan.local_pipelines
        self._patience.all_of([partial(self._wait_for_pipeline, one) for one in pipelines])
        self._start_simulators()

    def _prepare(self) -> list[Program]:
        """Returns Airflow's components."""
        prepared = prepare(self._plan, self._environment, self._prepare_storage)
        for program in prepared.programs:
            program.forget_crash()
        forget_added(self._layout)
        write_down_outside(self._layout, prepared.programs)
        text = render_config(prepared.programs, self._layout)
        write_atomic(self._layout.supervisor_config, text)
        return list(prepared.components)

    def _prepare_storage(self, parts: Sequence[Task]) -> list[list[Program]]:
        with self._progress.step("preparing storage", "storage of brokers and Postgres is ready"):
            return self._patience.all_of(parts)

    def _open_store(self) -> None:
        """Before Airflow, whose first task makes tables in it."""
        bucket = self._layout.bucket
        if bucket is None:
            return
        with self._progress.step("object store", f"tables and checkpoints go to {bucket.uri}"):
            if self._plan.store_port:
                holds = partial(is_open, bucket)
                self._patience.until(STORE, self._layout.logs / f"{STORE}.log", holds, _STORE_S)
            check_bucket(bucket)

    def _open_cluster(self) -> None:
        cluster = self._layout.cluster
        if cluster is None:
            return
        with self._progress.step("Spark cluster", f"master and workers are at {cluster.url}"):
            log = self._layout.logs / f"{MASTER}.log"
            self._patience.until(MASTER, log, partial(is_ready, cluster), _CLUSTER_S)

    def _open_registry(self) -> None:
        """What the files say and it does not know yet is told to it."""
        layout, registry = self._layout, self._layout.registry
        if registry is None:
            return
        with self._progress.step("schema registry", f"the schema registry is at {registry.url}"):
            holds = partial(registry_is_open, layout, registry)
            self._patience.until(REGISTRY, layout.logs / f"{REGISTRY}.log", holds, _REGISTRY_S)
            fill(layout, registry)

    def _start_supervisor(self) -> None:
        """Brokers and Postgres start with it."""
        command = (self._layout.control_bin / "supervisord", "-c", self._layout.supervisor_config)
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            words = (done.stderr or done.stdout).strip()
            raise MillraceError(f"supervisord does not start: {words}")

    def _raise_airflow(self, components: list[Program]) -> None:
        layout = self._layout
        with self._progress.step("Postgres", "Postgres answers"):
            holds = partial(postgres.answers, layout)
            self._patience.until("postgres", layout.logs / "postgres.log", holds, _DATABASE_S)
            postgres.ensure_database(layout)
        with self._progress.step("Airflow's tables", "Airflow's tables are of its version"):
            airflow_server.migrate(layout, self._environment)
        with self._progress.step("Airflow", "Airflow is healthy"):
            for component in components:
                self._supervisor.start(component.name)
            for component in components:
                holds = partial(
                    airflow_server.is_healthy, component.name, layout, self._plan.airflow_port
                )
                self._patience.until(component.name, component.log, holds, _AIRFLOW_S)

    def _raise_site(self, site: SiteSpec) -> None:
        name = broker_program(site)
        with self._progress.step(f"broker of {site.name}", f"the broker of {site.name} answers"):
            holds = partial(has_users, self._plan, site)
            self._patience.until(name, self._layout.logs / f"{name}.log", holds, _BROKER_S)

    def _raise_cluster(self, cluster: SiteSpec) -> None:
        """With what its relays need there, and at their sites too once these answer."""
        with self._progress.step(f"brokers of {cluster.name}", f"{cluster.name} answers"):
            holds = partial(has_relays, self._plan, cluster)
            name = broker_program(cluster)
            self._patience.until(name, self._layout.logs / f"{name}.log", holds, _BROKER_S)

    def _start_relays(self) -> None:
        for program in self._plan.relay_programs():
            self._supervisor.start(program.name)
        for relay in self._plan.relays:
            name = relay_program(relay, self._layout).name
            with self._progress.step(f"relay {relay.name}", f"relay {relay.name} is at work"):
                holds = partial(self._is_at_work, relay)
                self._patience.until(name, self._layout.logs / f"{name}.log", holds, _RELAY_S)

    def _is_at_work(self, relay: RelaySpec) -> bool:
        beat = read_relay_beat(self._layout, relay.name)
        return beat is not None and beat.began > self._began and bool(beat.sites)

    def _wait_for_pipeline(self, pipeline: PipelineSpec) -> None:
        job, log = program_name(pipeline.name), self._layout.job_log(pipeline.name)
        with self._progress.step(f"pipeline {pipeline.name}", f"pipeline {pipeline.name} runs"):
            try:
                self._patience.until(job, log, partial(self._runs, pipeline), _PIPELINE_S)
            except UnwellError as error:
                page = f"{self._plan.airflow_url}/dags/{pipeline.dag_id}"
                raise MillraceError(f"{error}\nits DAG (paused?): {page}") from error

    def _runs(self, pipeline: PipelineSpec) -> bool:
        mailbox = open_mailbox(self._layout, pipeline.name, is_remote=pipeline.is_remote)
        beat = mailbox.read_heartbeat(Heartbeat)
        return beat is not None and beat.phase == Phase.RUNNING and beat.at > self._began

    def _start_simulators(self) -> None:
        simulators = self._plan.simulators()
        for program in simulators:
            self._supervisor.start(program.name)
        for program in simulators:
            sends = partial(self._is_running, program.name)
            self._patience.until(program.name, program.log, sends, _SIMULATOR_S)
            self._progress.say(f"{program.name} sends")

    def _is_running(self, name: str) -> bool:
        info = self._supervisor.process(name)
        return info is not None and info.state == "RUNNING"
