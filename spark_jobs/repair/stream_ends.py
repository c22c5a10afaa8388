"""Up to where a site's stream has written all tables of its pipeline."""

from __future__ import annotations

from millrace.core.ends import Ends
from millrace.core.task import TaskSpec
from millrace.state.checkpoint import Checkpoint


def committed_ends(task: TaskSpec, checkpoint: str) -> Ends:
    return Checkpoint(checkpoint, task.engine.bucket).ends()
