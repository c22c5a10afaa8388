"""The real job as on other machines: in a JVM that was submitted, its mailbox in a bucket."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.core.remote_jobs import arguments, spec_name
from millrace.jobs.io.mailbox import Mailbox
from millrace.storage.io.objects import objects_at
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.lake.spark_submit import submitted
from tests.support import wait_until

SENT = [(None, str(number).encode()) for number in range(100)]


def as_elsewhere(job: IngestSpec) -> IngestSpec:
    """Written into its mailbox as its first generation."""
    bucket = job.engine.bucket
    assert bucket
    engine = job.engine.model_copy(update={"is_submitted": True})
    changes = {"mailbox": f"{bucket.uri}/jobs/{job.id}", "engine": engine, "generation": 1}
    moved = job.model_copy(update=changes)
    text = moved.model_dump_json()
    assert objects_at(moved.mailbox, bucket).put_new(spec_name(1), text)
    return moved


@pytest.mark.timeout(600)
def test_a_submitted_job_is_told_and_tells_by_the_bucket_alone(
    site: RunningSite, store: RunningStore, new_driver: NewDriver, tmp_path: Path
) -> None:
    driver = new_driver("submitted", store.bucket)
    job = as_elsewhere(driver.job)
    box = Mailbox(job.mailbox, store.bucket)

    def phase() -> Phase | None:
        assert process.poll() is None, (tmp_path / "log").read_text()[-4000:]
        beat = box.read_heartbeat(IngestBeat)
        return beat.phase if beat else None

    with submitted(
        "spark_jobs/ingest/ingest", arguments(job), job.engine, tmp_path / "log"
    ) as process:
        wait_until(lambda: phase() == Phase.RUNNING, START_TIMEOUT_S)
        site.produce("app", "submitted", SENT)
        wait_until(lambda: driver.delta.count() == len(SENT), 60)
        # As a service does it: the JVM alone hears of it.
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    beat = box.read_heartbeat(IngestBeat)
    assert beat
    assert (beat.phase, beat.generation, beat.error) == (Phase.STOPPED, 1, "")
    assert not Path(driver.job.mailbox).exists()
