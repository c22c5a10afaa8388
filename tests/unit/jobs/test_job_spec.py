"""What a job of any kind is started with."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.jobs.core.spec import JobSpec, SiteLogin
from millrace.jobs.io.mailbox import Mailbox
from millrace.settings.core.engine import EngineSpec

COMMON = {
    "entry_point": "any.job",
    "mailbox": "/m",
    "generations_dir": "/g",
    "engine": EngineSpec(memory="64m", class_path=()),
}


class CountSpec(JobSpec):
    kind: str = "count"
    noun: str = "counter"
    up_to: int


def test_what_hands_a_specification_on_keeps_the_fields_of_a_kind_that_it_does_not_know(
    tmp_path: Path,
) -> None:
    logins = (SiteLogin(user="counter", site="plant-a"),)
    spec = CountSpec(id="c", up_to=7, logins=logins, **COMMON)
    box = Mailbox(tmp_path)
    box.write_job(spec)
    known = box.read_job(JobSpec)
    assert known
    assert (known.id, known.kind, known.logins) == ("c", "count", logins)
    box.write_job(known.model_copy(update={"run": "r-1"}))
    assert box.read_job(CountSpec) == spec.model_copy(update={"run": "r-1"})


def test_a_field_that_its_kind_does_not_know_is_an_error() -> None:
    with pytest.raises(ValidationError, match="rows_per_bach"):
        IngestSpec.model_validate({"id": "t", "rows_per_bach": 1, **COMMON})
