"""What a registry is told, and how its ids are kept at those of the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.schemas.core.registry import (
    OutOfStepError,
    Registry,
    User,
    check_given,
    check_ids,
    check_known,
    filler,
    normal,
    registry_properties,
    subject_of,
    topic_of,
)
from millrace.schemas.io.local_registry import NotInstalledError, keep, prepare_registry

PASSWORDS = {User.ADMIN: "one", User.PUBLISHER: "two", User.READER: "three"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "dags" / "pipelines").mkdir(parents=True)
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "local.yaml").write_text("registry_port: 18081\n")
    return Settings.from_env({"MILLRACE_HOME": str(tmp_path)})


def test_settings_hold_no_password_and_no_plain_door():
    properties = registry_properties(
        Registry(port=1), Path("/f"), Path("/c"), Path("/k"), PASSWORDS
    )
    assert not set(PASSWORDS.values()) & set(properties.values())
    assert properties["quarkus.http.insecure-requests"] == "disabled"
    assert properties["quarkus.management.host-enabled"] == "false"


def test_layout_of_a_schemas_file_is_no_other_schema():
    assert normal('{"type":  "string"}') == normal('{\n"type": "string"}')


def test_fillers_differ_or_they_would_share_an_id():
    made = {filler(number) for number in range(1, 20)}
    assert len(made) == 19
    assert all(json.loads(schema)["type"] == "fixed" for _, schema in made)


@pytest.mark.parametrize(
    ("subject", "topic"),
    [("humidity-data-value", "humidity-data"), ("humidity-data-key", None), ("-value", "")],
)
def test_a_subject_is_a_topics_values(subject, topic):
    assert topic_of(subject) == topic
    assert topic is None or subject_of(topic) == subject


def test_ids_in_step_are_fine():
    check_given(7, 7, "7-x.avsc")
    check_known(7, '{"type": "string"}', '{"type":"string"}', "7-x.avsc")
    check_known(7, '"string"', None, "7-x.avsc")
    check_ids([1, 2, 1002])


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            lambda: check_given(7, 9, "7-x.avsc"),
            r"7-x\.avsc: .*under id 9.*name it 7.*free one.*delete",
        ),
        (
            lambda: check_known(7, '"string"', '"long"', "7-x.avsc"),
            r"7-x\.avsc: id 7 is another schema.*free one.*delete",
        ),
        (lambda: check_ids([1, 1003]), "up to 1003 and leave 1001 unused"),
    ],
)
def test_ids_out_of_step_are_named_with_the_ways_out(check, said):
    with pytest.raises(OutOfStepError, match=said):
        check()


def test_the_choice_is_remembered_until_the_other_is_made(settings):
    home = {"MILLRACE_HOME": str(settings.layout.home)}
    assert settings.layout.registry is None
    assert settings.choose_registry(wanted=True).layout.registry == Registry(port=18081)
    assert Settings.from_env(home).layout.registry == Registry(port=18081)
    settings.choose_registry(wanted=False)
    assert Settings.from_env(home).layout.registry is None


def test_a_registry_that_is_not_installed_says_what_installs_it(settings):
    with pytest.raises(NotInstalledError, match="make up REGISTRY=1"):
        prepare_registry(settings.layout, Registry(port=1))


@pytest.mark.parametrize("topic", ["x/../../y", "../y", "/etc/y", "a b", "", "t\n", "t\0"])
def test_a_subject_that_would_be_a_path_becomes_no_file(tmp_path, topic):
    layout = Platform(tmp_path)
    with pytest.raises(MillraceError, match="is no name that can be used"):
        keep(layout, 7, topic, "{}")
    assert list(tmp_path.rglob("*")) == []
