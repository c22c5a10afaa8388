"""Jobs of any kind are read, remembered and told apart by their kind."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from millrace.base.errors import MillraceError
from millrace.ingest.io.ingest_deployment import PipelineDeployment
from millrace.jobs.io import installed_kinds
from millrace.jobs.io.deployments import provision, read_or_recall, recall, recall_as, remember
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from tests.counting import COUNTING, CounterDeployment


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(COUNTING, "tests.counting:CountingKind", installed_kinds.GROUP)
    known = {**installed_kinds.installed_kinds(), COUNTING: point}
    monkeypatch.setattr(installed_kinds, "installed_kinds", lambda: known)


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    made = Platform(tmp_path)
    (made.dags / "counters").mkdir(parents=True)
    write(made, "name: c\nstep: 2\n")
    return made


def write(layout: Platform, text: str) -> None:
    (layout.dags / "counters" / "c.yaml").write_text(text)


def test_ingest_is_installed() -> None:
    assert "ingest" in installed_kinds.installed_kinds()
    assert installed_kinds.load_kind("ingest").dag_id("temperature") == "pipeline.temperature"


def test_a_kind_that_nobody_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(MillraceError, match=r"'juggling'.*counting, ingest.*millrace\.kinds"):
        installed_kinds.load_kind("juggling")


def test_what_was_provisioned_is_remembered_as_its_kind(layout: Platform) -> None:
    wanted = read_or_recall(layout, COUNTING, "c")
    assert provision(wanted, layout, last_try=False) == ["c counts from 0"]
    assert provision(wanted, layout, last_try=False) == []
    assert recall(layout, "c") == wanted
    assert isinstance(recall(layout, "c"), CounterDeployment)
    assert recall_as(PipelineDeployment, layout, "c") is None


def test_a_broken_file_takes_nothing_away(layout: Platform) -> None:
    with pytest.raises(MillraceError, match="nowhere"):
        read_or_recall(layout, COUNTING, "nowhere")
    wanted = read_or_recall(layout, COUNTING, "c")
    provision(wanted, layout, last_try=False)
    write(layout, "name: c\nstpe: 2\n")
    assert read_or_recall(layout, COUNTING, "c") == wanted


def test_two_kinds_never_share_a_name(layout: Platform) -> None:
    pipeline = PipelineSpec(name="c", sites="all", topics=("t",), format="json", table="t")
    remember(layout, PipelineDeployment(pipeline=pipeline, sites=()))
    with pytest.raises(MillraceError, match=r"counting 'c'.*kind 'ingest'.*another name"):
        provision(read_or_recall(layout, COUNTING, "c"), layout, last_try=False)
    assert isinstance(recall(layout, "c"), PipelineDeployment)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", json.dumps({"kind": "juggling"}), json.dumps({"kind": "ingest"})]
)
def test_what_cannot_be_understood_was_not_remembered(layout: Platform, text: str) -> None:
    layout.job("c").mkdir(parents=True)
    (layout.job("c") / "deployment.json").write_text(text)
    assert recall(layout, "c") is None


def test_a_kind_s_field_alone_makes_another_fingerprint_and_digest(layout: Platform) -> None:
    before = read_or_recall(layout, COUNTING, "c")
    write(layout, "name: c\nstep: 3\n")
    after = read_or_recall(layout, COUNTING, "c")
    assert before.digest != after.digest
    assert before.job(layout).fingerprint != after.job(layout).fingerprint
