"""Looks at the whole local stack: its processes, its sites, its pipelines."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import psutil

from millrace.base.errors import TransientError
from millrace.fleet.core.platform_status import (
    DOWN,
    AirflowAccess,
    JobLine,
    ProcessStatus,
    SiteAccess,
    StackStatus,
    describe_job,
    describe_pipeline,
    describe_relay,
)
from millrace.fleet.io.expiring_certificates import ending
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.core.ingest_spec import INGEST
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.spec import JobState, JobStatus
from millrace.jobs.io.deployments import provisioned_jobs, recall
from millrace.jobs.io.installed_kinds import load_kind
from millrace.jobs.io.load_runner import load_runner
from millrace.jobs.io.mailbox import open_mailbox
from millrace.jobs.io.runners.local_runner import is_job, job_pid, program_name
from millrace.pipelines.core.spec import REMOTE_RUNNERS
from millrace.platform.core.platform import Platform
from millrace.processes.io.process_table import find_marked
from millrace.processes.io.stack_identity import stack_marks
from millrace.processes.io.supervisor import ProcessInfo, Supervisor, SupervisorUnreachableError
from millrace.relay.io.beat_files import read_relay_beat
from millrace.stack.core.airflow_config import USER
from millrace.stack.io.airflow import airflow_server
from millrace.stack.io.stack_plan import StackPlan

SUPERVISOR = "supervisord"
Beat = TypeVar("Beat", bound=Heartbeat)


def look(plan: StackPlan, sample_s: float) -> StackStatus:
    supervisor = Supervisor(plan.layout.supervisor_socket)
    try:
        pid, infos = supervisor.pid(), supervisor.processes()
    except SupervisorUnreachableError:
        pid, infos = None, []
    processes = tuple(_processes(plan, pid, infos, sample_s))
    running = {info.name for info in infos if info.state == "RUNNING"}
    # Only then, or the heartbeats would be as old as the measuring took.
    now = datetime.now(UTC)
    return StackStatus(
        up=pid is not None,
        store=plan.layout.lake,
        airflow=AirflowAccess(
            url=plan.airflow_url, user=USER, password_file=plan.layout.airflow_password
        ),
        sites={
            site.name: SiteAccess(bootstrap=site.bootstrap)
            for site in (*plan.sites, *plan.clusters)
        },
        pipelines={
            pipeline.name: describe_pipeline(
                pipeline,
                _job_status(pipeline.runner, pipeline.name, plan.layout, is_up=pid is not None),
                _heartbeat(plan.layout, IngestBeat, pipeline.name, is_remote=pipeline.is_remote),
                plan.layout.tables(pipeline.table),
                now,
            )
            for pipeline in plan.pipelines
        },
        jobs=_other_jobs(plan.layout, now, is_up=pid is not None),
        relays={
            relay.name: describe_relay(
                read_relay_beat(plan.layout, relay.name),
                # What runs in another container is known by its beat alone.
                runs=plan.layout.apart or f"relay-{relay.name}" in running,
                now=now,
            )
            for relay in plan.relays
        },
        processes=processes,
        orphans=_orphans(plan, [pid, *(info.pid for info in infos)]),
        ending=ending(plan.layout, now),
    )


def _other_jobs(layout: Platform, now: datetime, *, is_up: bool) -> dict[str, JobLine]:
    """Of other kinds than pipelines', as they were provisioned."""
    return {
        name: describe_job(
            job,
            _job_status(job.runner, name, layout, is_up=is_up),
            _heartbeat(layout, load_kind(job.kind).beat, name, is_remote=job.is_remote),
            now,
        )
        for name in provisioned_jobs(layout)
        if (job := recall(layout, name)) and job.kind != INGEST
    }


def _job_status(runner: str, job_id: str, layout: Platform, *, is_up: bool) -> JobStatus:
    """Who runs the jobs of this machine has to be up to be asked."""
    status = load_runner(runner, layout).status(job_id)
    can_tell = is_up or runner in REMOTE_RUNNERS
    return status if can_tell else status.model_copy(update={"state": JobState.UNKNOWN})


def _heartbeat(layout: Platform, form: type[Beat], job_id: str, *, is_remote: bool) -> Beat | None:
    """A bucket that is away hides nothing of the stack."""
    try:
        return open_mailbox(layout, job_id, is_remote=is_remote).read_heartbeat(form)
    except TransientError:
        return None


def _processes(
    plan: StackPlan, supervisor_pid: int | None, infos: list[ProcessInfo], sample_s: float
) -> Iterable[ProcessStatus]:
    ports = plan.ports()
    if supervisor_pid is None:
        for name in (SUPERVISOR, *_expected(plan)):
            yield ProcessStatus(name=name, state=DOWN, port=ports.get(name))
        return
    trees = {info.name: _tree(info.pid) for info in infos if info.pid}
    trees[SUPERVISOR] = [psutil.Process(supervisor_pid)]
    usage = _measure(trees, sample_s)
    yield _status(SUPERVISOR, "running", usage[SUPERVISOR], pid=supervisor_pid)
    for info in infos:
        used = usage.get(info.name, _Usage())
        pid = job_pid(info.pid) if is_job(info.name) else info.pid
        yield _status(info.name, info.state.lower(), used, pid, ports.get(info.name), info)


@dataclass(frozen=True)
class _Usage:
    memory_mb: float = 0.0
    cpu_percent: float = 0.0


def _status(
    name: str,
    state: str,
    usage: _Usage,
    pid: int | None = None,
    port: int | None = None,
    info: ProcessInfo | None = None,
) -> ProcessStatus:
    since = (info.started if info.pid else info.stopped) if info else None
    return ProcessStatus(
        name=name,
        state=state,
        pid=pid,
        since=since,
        memory_mb=usage.memory_mb,
        cpu_percent=usage.cpu_percent,
        port=port,
    )


def _expected(plan: StackPlan) -> list[str]:
    components = [*airflow_server.COMPONENTS, "postgres"]
    brokers = [name for name in plan.ports() if name not in components]
    simulators = [program.name for program in (*plan.simulators(), *plan.relay_programs())]
    return [
        *components,
        *brokers,
        *simulators,
        *(program_name(p.name) for p in plan.local_pipelines),
    ]


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _measure(trees: dict[str, list[psutil.Process]], sample_s: float) -> dict[str, _Usage]:
    before = {name: _cpu_s(tree) for name, tree in trees.items()}
    began = time.monotonic()
    time.sleep(sample_s)
    took = time.monotonic() - began
    return {
        name: _Usage(
            memory_mb=round(sum(map(_memory, tree)) / 1e6, 1),
            cpu_percent=round(max(0.0, _cpu_s(tree) - before[name]) / took * 100, 1),
        )
        for name, tree in trees.items()
    }


def _cpu_s(tree: list[psutil.Process]) -> float:
    total = 0.0
    for process in tree:
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _memory(process: psutil.Process) -> float:
    """PSS counts a shared page once for all who share it; macOS only knows what is unshared."""
    with suppress(psutil.Error):
        full = process.memory_full_info()
        return float(getattr(full, "pss", full.uss))
    return 0.0


def _orphans(plan: StackPlan, roots: list[int | None]) -> tuple[int, ...]:
    """Ours, yet below nothing that is looked after: what a `kill -9` of a parent leaves."""
    marks = stack_marks(plan.layout)
    cared_for = {process.pid for root in roots if root for process in _tree(root)}
    found = find_marked(marks) if marks else []
    return tuple(process.pid for process in found if process.pid not in cared_for)
