"""What `verify` says of a job's tables once all has come."""

from __future__ import annotations

from pathlib import Path

from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.repair.core.verify_spec import ContinuityResult, ContinuitySpec
from tests.integration.stands.lake.lake import Lake


def verify(job: IngestSpec) -> ContinuityResult:
    task = ContinuitySpec(
        pipeline=job.id,
        engine=job.engine,
        tables=job.tables,
        folder=Path(job.mailbox),
        inputs=job.inputs,
        is_refined=True,
        # Nothing is on its way any more.
        settle_s=0,
    )
    lake = Lake.start(Path(job.mailbox) / "lake.log")
    try:
        return lake.work("spark_jobs.repair.continuity:verify", task, ContinuityResult)
    finally:
        lake.kill()


def words(found: ContinuityResult) -> list[str]:
    return [f"verify: {one.name}: {one.text}" for one in found.alarms] or ["verify: whole"]
