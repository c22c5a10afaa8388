"""`millrace status` as people read it."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.fleet.core.platform_status import PipelineStatus, ProcessStatus, StackStatus

_GOOD = {"running"}
_WAITING = {"starting", "stopping", "stopped", "absent"}
_NOTHING = "-"


def show(seen: StackStatus, console: Console) -> None:
    now = datetime.now(UTC)
    if not seen.up:
        console.print("The stack is down; 'millrace up' starts it.")
    if seen.orphans:
        pids = ", ".join(map(str, seen.orphans))
        console.print(f"Children of killed processes are left ({pids}); 'millrace down' ends them.")
    for one in seen.ending:
        console.print(
            f"{one.file} ends on {one.until:%Y-%m-%d}; how it is renewed:"
            " docs/security.md, 'Keys and passwords'",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )
    console.print(_processes(seen, now))
    console.print(_pipelines(seen, now))
    if seen.jobs:
        console.print(_jobs(seen, now))
    if seen.relays:
        console.print(_relays(seen, now))
    for name, pipeline in seen.pipelines.items():
        for layer, table in pipeline.tables.items():
            console.print(f"{layer} of {name}: {table}", highlight=False, soft_wrap=True)
    console.print(f"Tables   {seen.store}", highlight=False, soft_wrap=True)
    console.print(f"Airflow  {seen.airflow.url}   user {seen.airflow.user}", highlight=False)
    console.print(
        f"         password in {seen.airflow.password_file}", highlight=False, soft_wrap=True
    )


def _processes(seen: StackStatus, now: datetime) -> Table:
    table = Table(show_footer=True)
    table.add_column("process", "all of them", no_wrap=True, min_width=21)
    table.add_column("state")
    table.add_column("since")
    table.add_column("pid", justify="right")
    table.add_column("memory MB", f"{seen.memory_mb:.0f}", justify="right")
    table.add_column("CPU %", f"{seen.cpu_percent:.0f}", justify="right")
    table.add_column("port", justify="right")
    for process in seen.processes:
        table.add_row(*_process(process, now))
    return table


def _process(process: ProcessStatus, now: datetime) -> tuple[str | Text, ...]:
    running = process.pid is not None
    return (
        process.name,
        _coloured(process.state),
        _ago(process.since, now),
        str(process.pid or _NOTHING),
        f"{process.memory_mb:.0f}" if running else _NOTHING,
        f"{process.cpu_percent:.0f}" if running else _NOTHING,
        str(process.port or _NOTHING),
    )


def _pipelines(seen: StackStatus, now: datetime) -> Table:
    table = Table()
    for title in ("pipeline", "state", "gen.", "rows/s", "refused", "lag", "last batch"):
        table.add_column(title, overflow="fold")
    for name, pipeline in seen.pipelines.items():
        table.add_row(name, *_pipeline(pipeline, now))
    return table


def _pipeline(pipeline: PipelineStatus, now: datetime) -> tuple[str | Text, ...]:
    state = _coloured(pipeline.state)
    if pipeline.note:
        state.append(f"\n{pipeline.note}")
    return (
        state,
        str(pipeline.generation),
        f"{pipeline.rows_per_s:.1f}",
        str(pipeline.refused),
        _lag(pipeline.lag_records, pipeline.lag_s),
        _ago(pipeline.last_batch_at, now),
    )


def _jobs(seen: StackStatus, now: datetime) -> Table:
    """Of other kinds than pipelines'."""
    table = Table()
    for title in ("job", "kind", "state", "gen.", "lag", "last work", "says"):
        table.add_column(title, overflow="fold")
    for name, job in seen.jobs.items():
        state = _coloured(job.state)
        if job.note:
            state.append(f"\n{job.note}")
        says = ", ".join(f"{what}: {value}" for what, value in job.figures.items())
        table.add_row(
            name,
            job.kind,
            state,
            str(job.generation),
            _lag(job.lag_records, job.lag_s),
            _ago(job.worked_at, now),
            says or _NOTHING,
        )
    return table


def _lag(records: int | None, lag_s: float | None) -> str:
    return _NOTHING if records is None or lag_s is None else f"{records} ({lag_s:.0f} s)"


def _relays(seen: StackStatus, now: datetime) -> Table:
    table = Table()
    for title in ("relay", "state", "sites", "messages/s", "lag", "last commit"):
        table.add_column(title, overflow="fold")
    for name, relay in seen.relays.items():
        state = _coloured(relay.state)
        for note in relay.notes:
            state.append(f"\n{note}")
        table.add_row(
            name,
            state,
            f"{relay.sites_up} of {relay.sites}",
            f"{relay.messages_per_s:.1f}",
            _NOTHING if relay.lag_records is None else str(relay.lag_records),
            _ago(relay.last_commit_at, now),
        )
    return table


def _coloured(state: str) -> Text:
    colour = "green" if state in _GOOD else "yellow" if state in _WAITING else "red"
    return Text(state, style=colour)


def _ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return _NOTHING
    seconds = max(0, int((now - moment).total_seconds()))
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock
