"""A task's folder, there and back."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from millrace.jobs.core.task_spec import TaskSpec
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.buckets import client
from millrace.storage.io.objects import objects_at
from millrace.tasks.io.task_folder import brought_here, fetch, forget, send

BUCKET = Bucket(name="lake", region="eu-central-1")
PLACE = f"{BUCKET.uri}/jobs/heat/tasks/1-quality"
ARGUMENTS = (f"{PLACE}/task.json", BUCKET.model_dump_json(exclude_defaults=True))


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    tables = Tables(bronze="b", silver="s", quarantine="q")
    engine = EngineSpec(memory="1g", class_path=())
    task = TaskSpec(pipeline="heat", engine=engine, tables=tables, folder=tmp_path / "1-quality")
    task.folder.mkdir()
    task.spec_file.write_text(task.model_dump_json())
    (task.folder / "suite.json").write_text("{}")
    with mock_aws():
        client.cache_clear()
        boto3.client("s3", region_name=BUCKET.region).create_bucket(
            Bucket=BUCKET.name, CreateBucketConfiguration={"LocationConstraint": BUCKET.region}
        )
        yield task
    client.cache_clear()


def test_what_a_task_wrote_elsewhere_is_in_its_folder(task: TaskSpec) -> None:
    send(task, PLACE, BUCKET)
    with brought_here(ARGUMENTS) as text:
        there = TaskSpec.model_validate_json(text)
        assert there.folder != task.folder
        assert (there.folder / "suite.json").read_text() == "{}"
        there.result_file.write_text(json.dumps({"page": str(there.folder / "page.html")}))
        (there.folder / "page.html").write_text("<p>")
    assert not there.folder.exists()
    fetch(task, PLACE, BUCKET)
    assert json.loads(task.result_file.read_text()) == {"page": str(task.folder / "page.html")}
    assert (task.folder / "page.html").read_text() == "<p>"


def test_what_was_fetched_is_kept_in_the_bucket_no_longer(task: TaskSpec) -> None:
    send(task, PLACE, BUCKET)
    other = PLACE.replace("1-quality", "2-quality")
    send(task, other, BUCKET)
    forget(PLACE, BUCKET)
    assert objects_at(PLACE, BUCKET).names() == []
    assert sorted(objects_at(other, BUCKET).names()) == ["suite.json", "task.json"]


def test_a_reason_comes_back_too(task: TaskSpec) -> None:
    send(task, PLACE, BUCKET)
    with brought_here(ARGUMENTS) as text:
        TaskSpec.model_validate_json(text).error_file.write_text("the table is gone")
    fetch(task, PLACE, BUCKET)
    assert task.error_file.read_text() == "the table is gone"
    assert not task.result_file.exists()


def test_a_task_on_this_machine_stays_where_it_is(task: TaskSpec) -> None:
    with brought_here((str(task.spec_file),)) as text:
        assert TaskSpec.model_validate_json(text).folder == task.folder
