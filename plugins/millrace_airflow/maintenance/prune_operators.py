"""The DAG `prune`: what Airflow remembers of its runs is bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context

from millrace.base.duration import format_duration
from millrace.deployments import text as docs
from millrace.maintenance.io.airflow_history import is_ours, prune_database, prune_logs
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.tasks.core.schedule import nightly
from millrace_airflow.base.host import AirflowException, AirflowSkipException, CronTriggerTimetable
from millrace_airflow.base.plain_errors import said_plainly

_ELSEWHERE = (
    "Millrace did not set up this Airflow, so its database and logs are not Millrace's to prune;"
    " see docs/guide/operate.md, 'What Airflow remembers'"
)


class PruneOperator(BaseOperator):
    """Works on what is older than `history` of infra/local.yaml."""

    def execute(self, context: Context) -> dict[str, Any]:
        layout = platform_here()
        if not is_ours(layout):
            raise AirflowSkipException(_ELSEWHERE)
        before = datetime.now(UTC) - layout.history
        kept = format_duration(layout.history)
        self.log.info("what is older than %s (history: %s) goes", before.isoformat(), kept)
        with said_plainly():
            return self.prune(layout, before)

    def prune(self, layout: Platform, before: datetime) -> dict[str, Any]:
        raise NotImplementedError

    def on_kill(self) -> None:
        raise AirflowException("it was marked as done or failed")


class PruneDatabaseOperator(PruneOperator):
    def prune(self, layout: Platform, before: datetime) -> dict[str, Any]:
        rows = prune_database(layout, before, lambda line: self.log.info("%s", line))
        self.log.info("rows that went: %s (%s)", sum(rows.values()), rows or "none")
        return {"rows": sum(rows.values()), **rows}


class PruneLogsOperator(PruneOperator):
    def prune(self, layout: Platform, before: datetime) -> dict[str, Any]:
        gone = prune_logs(layout, before)
        self.log.info("log files that went: %s, %s bytes", gone.files, gone.size_bytes)
        return gone.model_dump()


def prune_dag() -> DAG:
    with DAG(
        "prune",
        description="Removes runs, and logs of runs, that are older than `history`",
        doc_md=docs.PRUNE,
        schedule=CronTriggerTimetable(nightly("prune"), timezone="UTC"),
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
        default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
        tags={"prune"},
    ) as dag:
        PruneDatabaseOperator(task_id="database")
        PruneLogsOperator(task_id="logs")
    return dag
