"""Names from outside: hostile ones at each door by which a name becomes a path or a topic."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from millrace.base.errors import MillraceError
from millrace.base.names import EventId, IssuedName, Name, Prefix, TableName, TopicName, is_named
from millrace.cloud.core.infrastructure import EnvironmentRequest, TerraformAction, refuse_unmeant
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.incidents.core.event import Event, EventKind, Gap
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import LocalSettings
from millrace.relay.cli import read_part
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.named_sites import find_site
from millrace.schemas.io import local_registry, schema_files
from millrace.secrets.io import device_certificates
from millrace.site_changes.core.site_request import SiteAction, SiteRequest
from millrace.site_changes.io.change_run import plan_change
from millrace.sites.core.spec import SiteSpec
from millrace.storage.core.bucket import RemoteStore
from millrace.tasks.io.task_pipelines import find_pipeline

HOSTILE = {
    "a folder above": "../x",
    "a folder above, later": "x/../../y",
    "a folder": "a/b",
    "a root": "/etc/passwd",
    "this folder": ".",
    "the folder above": "..",
    "nothing": "",
    "a blank": " ",
    "a NUL": "a\0b",
    "a newline at the end": "plant-a\n",
    "a newline within": "a\nb",
    "a carriage return": "a\rb",
    "300 characters": "a" * 300,
    "70,000 characters": "a" * 70_000,
    "a Cyrillic a": "pl\N{CYRILLIC SMALL LETTER A}nt-a",
    "a wide a": "\N{FULLWIDTH LATIN SMALL LETTER A}",
    "wide dots": "\N{FULLWIDTH FULL STOP}\N{FULLWIDTH FULL STOP}",
    "an Arabic digit": "a\N{ARABIC-INDIC DIGIT ONE}",
    "another hyphen": "plant\N{HYPHEN}a",
    "a letter without width": "plant-a\N{ZERO WIDTH SPACE}",
    "a half of a letter": "a\ud800",
    "a backslash": "..\\x",
    "a shell's words": "$(touch x)",
    "a star": "*",
    "percent signs": "%2e%2e%2fx",
}
PIPELINE = {"name": "p", "sites": ["a"], "topics": ["t"], "format": "json", "table": "t"}
RELAY = {"name": "r", "sites": ["a"], "topics": ["t"], "to": "centre"}
EVENT = {"id": "20260101T000000.000-x", "at": datetime(2026, 1, 1, tzinfo=UTC), "text": "x"}
INPUT = {"kind": "tcp", "listen": "127.0.0.1:1", "topic": "t", "framing": "lines"}
PRINT = "0" * 64


def pipeline(**said: Any) -> object:
    return PipelineSpec.model_validate({**PIPELINE, **said})


def relay(**said: Any) -> object:
    return RelaySpec.model_validate({**RELAY, **said})


def event(**said: Any) -> object:
    return Event.model_validate({**EVENT, "kind": EventKind.TRIAL, "pipeline": "p", **said})


def gap(**said: Any) -> object:
    span = {"first": 0, "last": 1}
    return Gap.model_validate({"site": "a", "topic": "t", "partition": 0, "span": span, **said})


def change(layout: Platform, action: SiteAction, site: str) -> object:
    told = {"bootstrap": "127.0.0.1:9092"} if action is SiteAction.ADD else {}
    return plan_change(
        layout, SiteRequest(action=action, site=site, local=action is SiteAction.ADD, **told)
    )


def gateway(**said: Any) -> object:
    given = {"site": "a", "data": "/d", "inputs": [{**INPUT, "name": "i"}], **said}
    return GatewaySpec.model_validate(given)


def schema_file(layout: Platform, name: str) -> object:
    return schema_files.read_name(layout.schemas / f"1-{name}.avsc")


def terraform(name: str) -> object:
    asked = EnvironmentRequest(environment=name, action=TerraformAction.APPLY)
    return refuse_unmeant(asked, ["dev", "prod"])


# What each door takes a name for; all of them refuse it, and nothing is written.
DOORS: dict[str, Callable[[Platform, str], object]] = {
    "file of a site: name": lambda _, n: SiteSpec(name=n, bootstrap="h:1"),
    "file of a pipeline: name": lambda _, n: pipeline(name=n),
    "file of a pipeline: sites": lambda _, n: pipeline(sites=[n]),
    "file of a pipeline: topics": lambda _, n: pipeline(topics=[n]),
    "file of a pipeline: table": lambda _, n: pipeline(table=n),
    "file of a pipeline: runner": lambda _, n: pipeline(runner=n),
    "file of a pipeline: suite": lambda _, n: pipeline(
        quality=f"expectations/{n}", columns={"v": {"type": "int", "from": "$.v"}}
    ),
    "file of a pipeline: column": lambda _, n: pipeline(
        columns={n: {"type": "int", "from": "$.v"}}
    ),
    "file of a relay: name": lambda _, n: relay(name=n),
    "file of a relay: sites": lambda _, n: relay(sites=[n]),
    "file of a relay: topics": lambda _, n: relay(topics=[n]),
    "file of a relay: to": lambda _, n: relay(to=n),
    "file of a gateway: site": lambda _, n: gateway(site=n),
    "file of a gateway: input": lambda _, n: gateway(inputs=[{**INPUT, "name": n}]),
    "file of a gateway: topic": lambda _, n: gateway(inputs=[{**INPUT, "name": "i", "topic": n}]),
    "settings: prefix in a bucket": lambda _, n: RemoteStore(
        kind="s3", bucket="lake", prefix=n if "/" not in n else f"{n}/.."
    ),
    "settings: prefix's part": lambda _, n: RemoteStore(
        kind="s3", bucket="lake", prefix=f"a/{n or '..'}/../b"
    ),
    "settings: bucket": lambda _, n: RemoteStore(kind="s3", bucket=n),
    "settings: site of events": lambda _, n: LocalSettings(events_site=n),
    "name of a schema's file": schema_file,
    "registry: subject": lambda layout, n: local_registry.keep(layout, 1, n, "{}"),
    "event: id": lambda _, n: event(id=f"20260101T000000.000-{n}"),
    "event: whole id": lambda _, n: event(id=n),
    "event: pipeline": lambda _, n: event(pipeline=n),
    "event: site": lambda _, n: event(site=n),
    "event: site of a gap": lambda _, n: gap(site=n),
    "event: topic of a gap": lambda _, n: gap(topic=n),
    "device: issue": lambda layout, n: device_certificates.issue(layout, "plant-a", n),
    "device: revoke": lambda layout, n: device_certificates.revoke(layout, "plant-a", n),
    "device: revoke what is elsewhere": lambda layout, n: device_certificates.revoke(
        layout, "plant-a", n, PRINT
    ),
    "command: pipeline": find_pipeline,
    "command: site": find_site,
    "command: site add": lambda layout, n: change(layout, SiteAction.ADD, n),
    "command: site change": lambda layout, n: change(layout, SiteAction.CHANGE, n),
    "command: site retire": lambda layout, n: change(layout, SiteAction.RETIRE, n),
    "command: site rotate": lambda layout, n: change(layout, SiteAction.ROTATE, n),
    "command: relay, a loss at a site": lambda _, n: read_part(f"{n}/t/0"),
    "command: relay, a loss of a topic": lambda _, n: read_part(f"plant-a/{n}/0"),
    "form: environment": lambda _, n: terraform(n),
}


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    made = Platform(tmp_path / "home")
    for folder in (made.pipelines, made.sites, made.clusters, made.relays, made.schemas):
        folder.mkdir(parents=True)
    (made.sites / "plant-a.yaml").write_text("name: plant-a\nbootstrap: 127.0.0.1:1\n")
    (made.pipelines / "p.yaml").write_text(json.dumps({**PIPELINE, "sites": ["plant-a"]}))
    return made


def tree(layout: Platform) -> dict[str, str | None]:
    files = layout.home.parent.rglob("*")
    return {str(file): file.read_text() if file.is_file() else None for file in files}


@pytest.mark.parametrize("door", DOORS)
def test_a_hostile_name_gets_in_nowhere(door: str, layout: Platform) -> None:
    before = tree(layout)
    let_in = [what for what, name in HOSTILE.items() if lets_in(DOORS[door], layout, name)]
    assert let_in == []
    assert tree(layout) == before


def lets_in(door: Callable[[Platform, str], object], layout: Platform, name: str) -> bool:
    """Any other error than these is no refusal, and fails the test."""
    try:
        door(layout, name)
    except (MillraceError, ValidationError):
        return False
    return True


@pytest.mark.parametrize(
    ("door", "name"),
    [
        ("file of a site: name", "plant-a"),
        ("file of a pipeline: topics", "temperature-data"),
        ("file of a pipeline: topics", "a.b_c-D..e"),
        ("file of a pipeline: suite", "silver_temperature.json"),
        ("name of a schema's file", "temperature-data"),
        ("registry: subject", "temperature-data"),
        ("event: id", "gap-found-heat-plant-a"),
        ("command: pipeline", "p"),
        ("command: site", "plant-a"),
        ("form: environment", "dev"),
        ("command: relay, a loss of a topic", "temperature-data"),
    ],
)
def test_a_usual_name_gets_in(door: str, name: str, layout: Platform) -> None:
    DOORS[door](layout, name)


def test_a_relay_gives_no_topic_a_name_of_dots() -> None:
    for pattern in (".", ".."):
        with pytest.raises(ValidationError, match="folders, and no names"):
            relay(**{"as": pattern})


@pytest.mark.generated
@given(text=st.text(max_size=60) | st.text("./\\-a\n\0", max_size=8))
def test_whatever_is_a_name_is_one_part_of_a_path(text: str) -> None:
    for kind in (Name, TableName, TopicName, IssuedName, EventId):
        if is_named(kind, text):
            assert text.isascii()
            assert PurePosixPath(text).name == text
            assert normpath(f"/folder/{text}") == f"/folder/{text}"
    if is_named(Prefix, text):
        assert normpath(f"/bucket/{text}") == f"/bucket/{text}"
