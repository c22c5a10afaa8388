"""Verify as a task: a proof that nothing is missing, or an alarm."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import Context

from millrace.incidents.core.event_sources import of_alarms
from millrace.incidents.io.outbox import tell
from millrace.repair.core.alarms import Alarm
from millrace.repair.io.reported_alarms import read_told, remember_told
from millrace.repair.text.verify_lines import result_lines
from millrace_airflow.base.host import AirflowFailException
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.tasks.task_operators import TaskOperator


class VerifyOperator(TaskOperator):
    """Looks for gaps; an alarm fails the task, and is told where the last look had it not."""

    def execute(self, context: Context) -> dict[str, int]:
        from millrace.repair.io.verify_run import plan_verify, verify

        now = datetime.now(UTC)
        with said_plainly():
            pipeline = self.spec_with_table("bronze")
            result = verify(
                self.layout, plan_verify(self.layout, pipeline.name, None, now), self.say
            )
        self.say_all(result_lines(result))
        self._tell(result.alarms, now)
        if result.alarms:
            names = ", ".join(alarm.name for alarm in result.alarms)
            raise AirflowFailException(f"{len(result.alarms)} alarms: {names}")
        return {"records": sum(part.rows for part in result.parts)}

    def _tell(self, alarms: tuple[Alarm, ...], now: datetime) -> None:
        folder = self.layout.verify(self.pipeline)
        tell(self.layout, of_alarms(self.pipeline, alarms, read_told(folder), now))
        remember_told(folder, alarms)
