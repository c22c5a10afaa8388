"""Up to where a site's stream has written all tables of its pipeline."""

from __future__ import annotations

from millrace.ingest.core.ends import Ends
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.task_spec import TaskSpec


def committed_ends(task: TaskSpec, checkpoint: str) -> Ends:
    return Checkpoint(checkpoint, task.engine.bucket).ends()
