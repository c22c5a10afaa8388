"""What runners on other machines promise beyond the others: services and the shared bucket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.base.errors import RunnerRefusedError, RunnerUnreachableError
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.core.remote_jobs import arguments, names_of
from millrace.jobs.core.spark_application import API_VERSION, GENERATION_LABEL, selector
from millrace.jobs.core.spec import JobSpec, JobState
from millrace.jobs.io.mailbox import Mailbox
from millrace.jobs.io.runners.kube_api import open_api
from millrace.jobs.io.spec_file import read_spec
from millrace.settings.core.remotes import Remotes
from millrace.site_changes.io.retirement import jobs_reading
from millrace.storage.io.objects import Objects, objects_at
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.services.https_service import Answer, Asked
from tests.integration.stands.services.runner_places import (
    PIPELINE,
    RemotePlace,
    emr_serverless,
    kubernetes,
)

PLACES = {"emr-serverless": emr_serverless, "kubernetes": kubernetes}


@pytest.fixture(params=PLACES)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, store: RunningStore
) -> Iterator[RemotePlace]:
    with PLACES[request.param](tmp_path, store).running() as running:
        yield running


def files(place: RemotePlace) -> Objects:
    return objects_at(place.layout.shared_mailbox(PIPELINE), place.layout.bucket)


def answering(place: RemotePlace, status: int, said: dict[str, str]) -> None:
    def answer(_: Asked) -> Answer:
        return status, "application/json", json.dumps(said).encode()

    place.service.answer = answer


def test_a_mailbox_in_a_bucket_gives_back_what_it_was_given(place: RemotePlace) -> None:
    job, now = place.job(), datetime.now(UTC)
    box = Mailbox(job.mailbox, job.engine.bucket)
    assert (box.read_job(JobSpec), box.read_heartbeat(IngestBeat)) == (None, None)
    assert box.read_starts() == ()
    beat = IngestBeat(job=PIPELINE, generation=3, fingerprint="f", phase=Phase.RUNNING, at=now)
    box.write_heartbeat(beat)
    box.write_heartbeat(beat.model_copy(update={"generation": 4}))
    box.add_start(4, now, "first start", failure=False)
    again = Mailbox(job.mailbox, job.engine.bucket)
    assert again.read_heartbeat(IngestBeat) == beat.model_copy(update={"generation": 4})
    assert [start.generation for start in again.read_starts()] == [4]


def test_a_job_elsewhere_holds_up_the_end_of_a_site_that_it_reads(place: RemotePlace) -> None:
    job, now = place.job(), datetime.now(UTC)
    site = SiteBeat(
        site="plant-a",
        batch=1,
        rows_per_s=0,
        rows_total=0,
        last_batch_at=None,
        reachable=True,
        partitions=(),
    )
    beat = IngestBeat(
        job=PIPELINE,
        generation=1,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=now - timedelta(seconds=20),
        sites=(site,),
    )
    Mailbox(job.mailbox, job.engine.bucket).write_heartbeat(beat)
    place.layout.job(PIPELINE).mkdir(parents=True)
    assert jobs_reading(place.layout, "plant-a") == [PIPELINE]
    assert jobs_reading(place.layout, "plant-b") == []


def test_the_job_s_arguments_lead_to_its_specification(place: RemotePlace) -> None:
    place.runner().start(place.job())
    started = Mailbox(place.job().mailbox, place.layout.bucket).read_job(JobSpec)
    assert started
    assert started.run
    read = JobSpec.model_validate_json(read_spec(arguments(started)))
    assert (read.generation, read.id) == (1, PIPELINE)
    assert read == started.model_copy(update={"run": ""})


def test_starts_of_other_words_at_one_generation_make_one_job(place: RemotePlace) -> None:
    place.start_and_die(place.job())
    changed = place.job().model_copy(update={"fingerprint": "f2", "reason": "another"})
    status = place.runner().start(changed)
    assert (status.generation, status.fingerprint) == (1, "f1")
    assert len(place.processes) == 1


def test_a_job_whose_mailbox_was_emptied_is_adopted_to_be_replaced(place: RemotePlace) -> None:
    place.runner().start(place.job())
    files(place).delete(["job.json", "generations/1.json"])
    status = place.runner().start(place.job())
    assert (status.state, status.generation, status.fingerprint) == (JobState.RUNNING, 1, "")
    assert len(place.processes) == 1


def test_a_start_that_was_refused_is_made_good_by_the_next(place: RemotePlace) -> None:
    right = place.service.answer
    answering(place, 403, {"message": "you may not"})
    with pytest.raises(RunnerRefusedError, match="you may not"):
        place.runner().start(place.job())
    place.service.answer = right
    assert place.runner().start(place.job()).state == JobState.RUNNING
    assert len(place.processes) == 1


def test_a_service_that_asks_for_patience_leaves_a_job_unknown(place: RemotePlace) -> None:
    place.runner().start(place.job())
    answering(place, 503, {"message": "slow down"})
    assert place.runner().status(PIPELINE).state == JobState.UNKNOWN
    # Logs that are in a bucket can be read all the same, if the job has written any yet.
    assert place.runner().log_tail(PIPELINE, 1) in ([], ["started"])
    with pytest.raises(RunnerUnreachableError, match="slow down"):
        place.runner().start(place.job())


def test_a_store_that_is_away_leaves_a_job_unknown(place: RemotePlace) -> None:
    assert place.layout.bucket
    nowhere = place.layout.bucket.model_copy(update={"endpoint": "https://127.0.0.1:1"})
    cut_off = replace(place, layout=replace(place.layout, bucket=nowhere))
    assert cut_off.runner().status(PIPELINE).state == JobState.UNKNOWN


def test_an_application_that_is_not_there_is_named(tmp_path: Path, store: RunningStore) -> None:
    with emr_serverless(tmp_path, store).running() as place:
        settings = place.layout.remotes.emr_serverless
        assert settings
        wrong = Remotes(emr_serverless=settings.model_copy(update={"application": "00gone"}))
        place.layout = replace(place.layout, remotes=wrong)
        with pytest.raises(RunnerRefusedError, match="application='00gone' right"):
            place.runner().start(place.job())


def test_settings_that_changed_after_a_lost_start_begin_the_next_generation(
    tmp_path: Path, store: RunningStore
) -> None:
    with emr_serverless(tmp_path, store).running() as place:
        place.start_and_die(place.job())
        place.jobs()[0].kill()
        settings = place.layout.remotes.emr_serverless
        assert settings
        changed = Remotes(emr_serverless=settings.model_copy(update={"executors": 5}))
        place.layout = replace(place.layout, remotes=changed)
        status = place.runner().start(place.job())
        assert (status.state, status.generation) == (JobState.RUNNING, 2)


def kept(place: RemotePlace) -> list[int]:
    """Generations that the cluster tells of."""
    settings = place.layout.remotes.kubernetes
    assert settings
    job = place.job()
    items = open_api(settings).list(
        f"/apis/{API_VERSION}/namespaces/{settings.namespace}/sparkapplications",
        selector(names_of(job).prefix),
    )
    return sorted(int(one["metadata"]["labels"][GENERATION_LABEL]) for one in items)


def test_a_cluster_keeps_the_run_before_and_forgets_older_ones(
    tmp_path: Path, store: RunningStore
) -> None:
    with kubernetes(tmp_path, store).running() as place:
        for generation in (1, 2, 3):
            assert place.runner().start(place.job()).generation == generation
            assert kept(place) == list(range(max(1, generation - 1), generation + 1))
            for job in place.jobs():
                job.kill()
                job.wait(10)


def test_a_token_that_is_wrong_is_told_with_what_is_needed(
    tmp_path: Path, store: RunningStore
) -> None:
    with kubernetes(tmp_path, store).running() as place:
        (tmp_path / "token").write_text("of somebody else")
        with pytest.raises(RunnerRefusedError, match="needs a role in namespace 'millrace'"):
            place.runner().start(place.job())
