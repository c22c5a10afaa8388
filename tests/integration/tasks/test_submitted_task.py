"""A real task as on other machines: submitted, with its folder and its tables in a bucket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millrace.jobs.core.emr_runs import task_request
from millrace.quality.core.quality_task import QualityResult, QualitySpec
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.settings.core.remotes import EmrServerlessSettings
from millrace.tasks.io.task_folder import fetch, send
from tests.integration.conftest import CHECKOUT
from tests.integration.quality.test_quality import SUITE, append
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.lake.spark_submit import submitted

SETTINGS = EmrServerlessSettings(
    application="00abc", role="arn:aws:iam::123456789012:role/quality", home=CHECKOUT
)


@pytest.mark.timeout(600)
def test_a_submitted_check_judges_rows_of_the_bucket_and_its_page_comes_back(
    store: RunningStore, tmp_path: Path
) -> None:
    bucket, folder = store.bucket, tmp_path / "1-quality"
    place = f"{bucket.uri}/jobs/submitted/tasks/{folder.name}"
    silver = f"{bucket.uri}/lake/silver/submitted"
    append(silver, 90, 80, bucket=bucket)
    folder.mkdir()
    suite = folder / "values.json"
    suite.write_text(json.dumps(SUITE))
    task = QualitySpec(
        pipeline="submitted",
        engine=EngineSpec(
            memory="768m",
            class_path=(CHECKOUT / ".jars" / "spark", CHECKOUT / ".jars" / "jvm"),
            bucket=bucket,
            is_submitted=True,
        ),
        tables=Tables(bronze="none", silver=silver, quarantine="none"),
        folder=folder,
        suite=suite,
        columns=("value",),
    )
    task.spec_file.write_text(task.model_dump_json())
    send(task, place, bucket)
    request = task_request(task, "spark_jobs.quality.quality", place, SETTINGS, bucket)
    arguments = request["jobDriver"]["sparkSubmit"]["entryPointArguments"]
    with submitted(
        "spark_jobs/quality/quality", arguments, task.engine, tmp_path / "log"
    ) as process:
        code = process.wait(500)
    assert code == 0, (tmp_path / "log").read_text()[-4000:]
    fetch(task, place, bucket)
    result = QualityResult.model_validate_json(task.result_file.read_text())
    assert (result.rows, result.worst, result.page) == (2, "critical", task.page_file)
    assert "values on" in task.page_file.read_text()
