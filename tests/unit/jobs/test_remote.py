"""Jobs on other machines: what the services are told, and what their words mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubeflow_spark_api.models.spark_v1beta2_spark_application import SparkV1beta2SparkApplication

from millrace.base.errors import (
    GenerationTakenError,
    MillraceError,
    RunnerRefusedError,
    RunnerUnreachableError,
)
from millrace.ingest.core.ingest_plan import plan_for_runner, plan_for_task
from millrace.jobs.core import emr_runs, spark_application
from millrace.jobs.core.remote_jobs import RunNames, engine_for_task
from millrace.jobs.core.spec import JobSpec, JobState
from millrace.jobs.core.task_spec import TaskSpec
from millrace.pipelines.core.runner_fitness import unfit_for
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.settings.core.remotes import EmrServerlessSettings, KubernetesSettings, Remotes
from millrace.sites.core.spec import SiteSpec
from millrace.storage.core.bucket import Bucket

BUCKET = Bucket(name="plant-data", prefix="millrace", region="eu-central-1")
EMR = EmrServerlessSettings(
    application="00f1abc", role="arn:aws:iam::123456789012:role/millrace-job"
)
CLUSTER = KubernetesSettings(
    namespace="millrace", image="r.example/millrace:1", service_account="spark", secret="logins"
)
LAYOUT = Platform(
    Path("/airflow"), bucket=BUCKET, remotes=Remotes(emr_serverless=EMR, kubernetes=CLUSTER)
)
SITE = SiteSpec(name="plant-a", bootstrap="plant-a.example:9092")


def pipeline(runner: str, **changes: object) -> PipelineSpec:
    keys = {
        "name": "temperature",
        "sites": "all",
        "topics": ["temperature-data"],
        "format": "json",
        "table": "temperature",
        "runner": runner,
        **changes,
    }
    return PipelineSpec.model_validate(keys)


def job(runner: str, layout: Platform = LAYOUT, generation: int = 3, **changes: object) -> JobSpec:
    planned = plan_for_runner(pipeline(runner, **changes), [SITE], layout)
    return planned.model_copy(update={"generation": generation})


def request(**changes: object) -> dict[str, Any]:
    return emr_runs.start_request(job("emr-serverless", **changes), EMR, BUCKET)


def manifest(**changes: object) -> dict[str, Any]:
    return spark_application.manifest(job("kubernetes", **changes), CLUSTER)


@pytest.mark.parametrize("runner", ["emr-serverless", "kubernetes"])
def test_a_remote_job_sees_its_own_machine_and_the_shared_bucket(runner: str) -> None:
    planned = job(runner)
    assert planned.mailbox == "s3a://plant-data/millrace/jobs/temperature"
    assert planned.engine.is_submitted
    assert planned.engine.class_path[0] == Path("/opt/millrace/.jars/spark")
    assert planned.inputs[0].secret_file.is_relative_to("/opt/millrace/var/secrets")
    assert "/airflow" not in planned.model_dump_json()


def test_a_local_job_of_the_same_stack_keeps_its_folder() -> None:
    planned = job("local")
    assert planned.mailbox == "/airflow/var/jobs/temperature"
    assert not planned.engine.is_submitted


def test_another_image_is_another_job() -> None:
    newer = CLUSTER.model_copy(update={"image": "r.example/millrace:2"})
    changed = Platform(LAYOUT.home, bucket=BUCKET, remotes=Remotes(kubernetes=newer))
    assert job("kubernetes").fingerprint == job("kubernetes").fingerprint
    assert job("kubernetes", changed).fingerprint != job("kubernetes").fingerprint


def test_a_name_leads_back_to_its_generation_and_to_no_other_stack() -> None:
    names = RunNames("a-1", "s3a://one/generations")
    assert names.generation(names.of(12)) == 12
    for other in (RunNames("a", "s3a://one/generations"), RunNames("a-1", "s3a://two/generations")):
        assert other.generation(names.of(12)) is None
    assert names.generation("a-1") is None


def test_the_longest_name_fits_a_label_of_kubernetes() -> None:
    assert len(RunNames("p" * 48, "s3a://x").of(9_999_999)) == 63


def test_a_start_of_one_generation_is_one_request_whenever_it_is_made() -> None:
    assert request() == request()
    assert request()["clientToken"] != request(generation=4)["clientToken"]


def test_emr_serverless_makes_one_attempt_and_supervision_the_next() -> None:
    asked = request()
    assert asked["mode"] == "STREAMING"
    assert asked["retryPolicy"] == {"maxFailedAttemptsPerHour": 1}
    assert asked["tags"] == {"millrace:pipeline": "temperature", "millrace:generation": "3"}


def test_the_job_is_told_where_its_specification_is() -> None:
    submit = request()["jobDriver"]["sparkSubmit"]
    uri, bucket = submit["entryPointArguments"]
    assert submit["entryPoint"] == "local:///opt/millrace/spark_jobs/ingest/ingest.py"
    assert uri == "s3a://plant-data/millrace/jobs/temperature/generations/3.json"
    assert Bucket.model_validate_json(bucket) == BUCKET
    assert manifest()["spec"]["arguments"] == [uri, bucket]


def test_a_request_is_one_that_boto_would_send() -> None:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.validate import validate_parameters

    model = ServiceModel(Loader().load_service_model("emr-serverless", "service-2"))
    shape = model.operation_model("StartJobRun").input_shape
    assert shape is not None
    validate_parameters(request(), shape)


def test_a_manifest_is_one_that_the_operator_knows_in_every_field() -> None:
    made = manifest()
    known = SparkV1beta2SparkApplication.from_dict(made)
    assert known is not None
    assert known.to_dict() == made


def test_the_operator_leaves_restarts_to_supervision_and_tells_runs_apart() -> None:
    made = manifest()
    assert made["spec"]["restartPolicy"] == {"type": "Never"}
    assert made["metadata"]["labels"]["millrace.generation"] == "3"
    assert made["metadata"]["name"].endswith("-3")
    assert f"{made['metadata']['name']}-driver" == spark_application.driver_pod(
        made["metadata"]["name"]
    )


def test_logins_come_from_a_secret_to_where_the_job_looks() -> None:
    made, planned = manifest()["spec"], job("kubernetes")
    mounts = {one["name"]: one["mountPath"] for one in made["driver"]["volumeMounts"]}
    paths = {
        Path(mounts[volume["name"]]) / item["path"]: item["key"]
        for volume in made["volumes"]
        for item in volume["secret"]["items"]
    }
    assert paths == {
        planned.inputs[0].secret_file: "plant-a.ingest.properties",
        planned.inputs[0].ca_file: "ca.pem",
    }


@pytest.mark.parametrize(
    ("state", "means"),
    [
        ("SUBMITTED", JobState.RUNNING),
        ("QUEUED", JobState.RUNNING),
        ("RUNNING", JobState.RUNNING),
        ("CANCELLING", JobState.STOPPING),
        ("CANCELLED", JobState.STOPPED),
        ("SUCCESS", JobState.STOPPED),
        ("FAILED", JobState.DEAD),
        ("HIBERNATING", JobState.UNKNOWN),
    ],
)
def test_states_of_emr_serverless(state: str, means: JobState) -> None:
    assert emr_runs.job_state(state) == means


@pytest.mark.parametrize(
    ("state", "means"),
    [
        ("", JobState.RUNNING),
        ("SUBMITTED", JobState.RUNNING),
        ("FAILING", JobState.RUNNING),
        ("COMPLETED", JobState.STOPPED),
        ("SUSPENDED", JobState.STOPPED),
        ("FAILED", JobState.DEAD),
        ("SUBMISSION_FAILED", JobState.DEAD),
        ("UNKNOWN", JobState.UNKNOWN),
        ("HIBERNATING", JobState.UNKNOWN),
    ],
)
def test_states_of_the_operator(state: str, means: JobState) -> None:
    assert spark_application.job_state(state) == means


def test_all_states_that_aws_names_are_known() -> None:
    from botocore.loaders import Loader

    model = Loader().load_service_model("emr-serverless", "service-2")
    named = model["shapes"]["JobRunState"]["enum"]
    assert JobState.UNKNOWN not in {emr_runs.job_state(state) for state in named}


@pytest.mark.parametrize(
    ("timeout_s", "grace_s"), [(0, 15), (0.5, 15), (120.0, 120), (86_400, 1800)]
)
def test_a_grace_period_is_one_that_aws_takes(timeout_s: float, grace_s: int) -> None:
    assert emr_runs.grace_s(timeout_s) == grace_s


@pytest.mark.parametrize(
    ("code", "status", "kind", "says"),
    [
        ("ThrottlingException", 429, RunnerUnreachableError, ""),
        ("InternalServerException", 500, RunnerUnreachableError, ""),
        ("ConflictException", 409, GenerationTakenError, ""),
        ("AccessDeniedException", 403, RunnerRefusedError, "iam:PassRole of arn:aws:iam"),
        ("ResourceNotFoundException", 404, RunnerRefusedError, "application='00f1abc'"),
        ("ValidationException", 400, RunnerRefusedError, ""),
    ],
)
def test_refusals_of_aws(code: str, status: int, kind: type[MillraceError], says: str) -> None:
    error = emr_runs.error_of(code, status, "AWS said so", EMR)
    assert type(error) is kind
    assert "AWS said so" in str(error)
    assert says in str(error)


@pytest.mark.parametrize(
    ("status", "kind", "says"),
    [
        (0, RunnerUnreachableError, ""),
        (429, RunnerUnreachableError, ""),
        (503, RunnerUnreachableError, ""),
        (401, RunnerRefusedError, "needs a role in namespace 'millrace'"),
        (403, RunnerRefusedError, "needs a role in namespace 'millrace'"),
        (404, RunnerRefusedError, "does the cluster have the Spark operator"),
        (422, RunnerRefusedError, ""),
    ],
)
def test_refusals_of_kubernetes(status: int, kind: type[MillraceError], says: str) -> None:
    error = spark_application.error_of(status, "the cluster said so", CLUSTER)
    assert type(error) is kind
    assert "the cluster said so" in str(error)
    assert says in str(error)


def test_nothing_that_is_sent_names_a_file_of_keys() -> None:
    sent = json.dumps([request(), manifest()])
    assert "credentials" not in sent
    assert "/airflow" not in sent


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (LAYOUT, None),
        (Platform(Path("/airflow"), bucket=BUCKET), "write emr_serverless: with application and"),
        (Platform(Path("/airflow"), remotes=LAYOUT.remotes), "name a bucket under store:"),
        (
            Platform(
                Path("/airflow"),
                bucket=BUCKET.model_copy(update={"credentials_file": Path("/x")}),
                remotes=LAYOUT.remotes,
            ),
            "no credentials_file of this one",
        ),
    ],
    ids=["fits", "not set up", "folder", "keys here"],
)
def test_where_a_remote_runner_cannot_work_the_way_out_is_told(
    layout: Platform, says: str | None
) -> None:
    problem = unfit_for("emr-serverless", layout)
    assert (problem is None) == (says is None)
    assert (says or "") in (problem or "")


def test_a_task_runs_once_with_its_own_role_where_its_files_are() -> None:
    role = "arn:aws:iam::123456789012:role/maintain"
    settings = EMR.model_copy(update={"roles": {"maintain": role}})
    planned = plan_for_task(pipeline("emr-serverless"), [SITE], LAYOUT, None)
    folder = Path("/airflow/var/jobs/temperature/tasks/20260101T000000.000-maintain")
    task = TaskSpec(pipeline="p" * 48, engine=planned.engine, tables=planned.tables, folder=folder)
    place = f"{BUCKET.uri}/jobs/temperature/tasks/{folder.name}"
    made = emr_runs.task_request(task, "spark_jobs.maintenance.maintain", place, settings, BUCKET)
    submit = made["jobDriver"]["sparkSubmit"]
    assert (made["executionRoleArn"], len(made["clientToken"])) == (role, 40)
    assert not {"mode", "retryPolicy"} & set(made)
    assert submit["entryPoint"] == "local:///opt/millrace/spark_jobs/maintenance/maintain.py"
    assert submit["entryPointArguments"][0] == f"{place}/task.json"
    other = emr_runs.task_request(task, "spark_jobs.repair.replay", place, settings, BUCKET)
    assert other["executionRoleArn"] == EMR.role


@pytest.mark.parametrize(
    ("runner", "jars", "submitted"),
    [
        ("emr-serverless", "/opt/millrace/.jars/spark", True),
        ("kubernetes", "/airflow/.jars/spark", False),
        ("local", "/airflow/.jars/spark", False),
    ],
)
def test_a_task_runs_where_its_runner_runs_tasks(runner: str, jars: str, submitted: bool) -> None:
    planned = plan_for_task(pipeline(runner), [SITE], LAYOUT, None).engine
    for engine in (planned, engine_for_task(pipeline(runner), LAYOUT)):
        assert (str(engine.class_path[0]), engine.is_submitted) == (jars, submitted)
