"""Up to where a site's stream has written all tables of its pipeline."""

from __future__ import annotations

from millrace.core.lag import Partition
from millrace.core.task import TaskSpec
from millrace.state.checkpoint import Checkpoint


def committed_ends(task: TaskSpec, checkpoint: str) -> dict[Partition, int]:
    """Nothing before the first batch has gone through."""
    state = Checkpoint(checkpoint, task.engine.bucket)
    return state.offsets(state.last_commit())
