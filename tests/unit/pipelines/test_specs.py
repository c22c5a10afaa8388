"""Bad configurations, as a table: each names its file, line and key, and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.base.errors import BadValueError, MissingKeyError, SpecErrors, UnknownKeyError
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.platform.core.platform import Platform

PIPELINE = {
    "name": "temperature",
    "sites": "[plant-a]",
    "topics": "[temperature-data]",
    "format": "avro",
    "table": "temperature",
}
SITE = {"name": "plant-a", "bootstrap": "127.0.0.1:19092"}


def write(file: Path, keys: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}: {value}\n" for key, value in keys.items()))


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    write(layout.sites / "plant-a.yaml", SITE)
    write(layout.pipelines / "temperature.yaml", PIPELINE)
    return layout


def without(keys: dict[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in keys.items() if name != key}


BAD_PIPELINES = {
    "unknown key": (PIPELINE | {"tpics": "[x]"}, UnknownKeyError, 6, ["tpics", "topics"]),
    "unknown nested key": (
        PIPELINE | {"supervise": "{max_lagg: 1 second}"},
        UnknownKeyError,
        6,
        ["supervise.max_lagg", "max_lag"],
    ),
    "missing key": (without(PIPELINE, "topics"), MissingKeyError, None, ["topics", "temperature-"]),
    "missing format": (without(PIPELINE, "format"), MissingKeyError, None, ["format: json"]),
    "bad duration": (
        PIPELINE | {"freshness": "5 sec"},
        BadValueError,
        6,
        ["freshness='5 sec'", "write '5 seconds'"],
    ),
    "duration without unit": (PIPELINE | {"freshness": "5"}, BadValueError, 6, ["'5 seconds'"]),
    "duration of nothing": (PIPELINE | {"freshness": "0 seconds"}, BadValueError, 6, ["above"]),
    "duration too short": (PIPELINE | {"freshness": "9 milliseconds"}, BadValueError, 6, ["100"]),
    "nested duration": (
        PIPELINE | {"supervise": "{max_lag: soon}"},
        BadValueError,
        6,
        ["supervise.max_lag='soon'", "2 seconds"],
    ),
    "unknown site": (PIPELINE | {"sites": "[plant-x]"}, BadValueError, 2, ["plant-x", "plant-a"]),
    "site as text": (PIPELINE | {"sites": "plant-a"}, BadValueError, 2, ["sites='plant-a'"]),
    "no sites": (PIPELINE | {"sites": "[]"}, BadValueError, 2, ["sites=[]", "at least one"]),
    "no topics": (PIPELINE | {"topics": "[]"}, BadValueError, 3, ["topics=[]", "at least one"]),
    "topic with a space": (PIPELINE | {"topics": "[a b]"}, BadValueError, 3, ["topics.0='a b'"]),
    "unknown format": (
        PIPELINE | {"format": "xml"},
        BadValueError,
        4,
        ["'xml'", "'avro' or 'json'"],
    ),
    "table with a dash": (
        PIPELINE | {"table": "a-b"},
        BadValueError,
        5,
        ["'a-b'", "small letters"],
    ),
    "partitions of none": (PIPELINE | {"partitions": "0"}, BadValueError, 6, ["partitions=0"]),
    "partitions as text": (PIPELINE | {"partitions": "two"}, BadValueError, 6, ["integer"]),
    "memory without unit": (
        PIPELINE | {"resources": "{memory: '768'}"},
        BadValueError,
        6,
        ["resources.memory='768'", "768m"],
    ),
    "section as a word": (PIPELINE | {"supervise": "yes"}, BadValueError, 6, ["supervise=True"]),
    "other name than the file": (
        PIPELINE | {"name": "other"},
        BadValueError,
        1,
        ["temperature.yaml"],
    ),
    "key twice": (
        {**PIPELINE, "topics ": "[y]"},
        BadValueError,
        6,
        ["'topics'", "twice", "line 3"],
    ),
    "not YAML": ({"name": "[temperature"}, BadValueError, 2, ["not YAML"]),
    "a tab": ({"name": "x\n\ttopics: y"}, BadValueError, 2, ["not YAML"]),
}


@pytest.mark.parametrize(
    ("keys", "kind", "line", "words"), BAD_PIPELINES.values(), ids=BAD_PIPELINES.keys()
)
def test_a_bad_pipeline_file_names_line_key_and_way_out(
    layout: Platform, keys: dict[str, str], kind: type, line: int | None, words: list[str]
) -> None:
    file = layout.pipelines / "temperature.yaml"
    write(file, keys)
    with pytest.raises(SpecErrors) as caught:
        load_pipelines(layout)
    (error,) = caught.value.errors
    assert type(error) is kind
    assert (error.place.file, error.place.line) == (file, line)
    assert all(word in str(error) for word in words), str(error)


BAD_SITES = {
    "bootstrap without port": (SITE | {"bootstrap": "kafka"}, BadValueError, 2, ["host:port"]),
    "port out of range": (SITE | {"bootstrap": "kafka:99999"}, BadValueError, 2, ["host:port"]),
    "missing bootstrap": (without(SITE, "bootstrap"), MissingKeyError, None, ["bootstrap: kafka"]),
    "no encryption": (
        SITE | {"client": "{security.protocol: PLAINTEXT}"},
        BadValueError,
        3,
        ["client.security.protocol='PLAINTEXT'", "may tune"],
    ),
    "no certificate check": (
        SITE | {"client": "{enable.ssl.certificate.verification: false}"},
        BadValueError,
        3,
        ["client.enable.ssl.certificate.verification=False", "may tune"],
    ),
    "client as a list": (SITE | {"client": "[a]"}, BadValueError, 3, ["key: value"]),
    "rate of none": (
        SITE | {"local": "{simulator: {rate: 0}}"},
        BadValueError,
        3,
        ["local.simulator.rate=0"],
    ),
    "unknown unit": (
        SITE | {"local": "{simulator: {unit: R}}"},
        BadValueError,
        3,
        ["local.simulator.unit='R'", "'C', 'F' or 'K'"],
    ),
    "empty file": ({}, BadValueError, 1, ["holds no"]),
}


@pytest.mark.parametrize(
    ("keys", "kind", "line", "words"), BAD_SITES.values(), ids=BAD_SITES.keys()
)
def test_a_bad_site_file_names_line_key_and_way_out(
    layout: Platform, keys: dict[str, str], kind: type, line: int | None, words: list[str]
) -> None:
    file = layout.sites / "plant-a.yaml"
    write(file, keys)
    with pytest.raises(SpecErrors) as caught:
        load_sites(layout)
    (error,) = caught.value.errors
    assert type(error) is kind
    assert (error.place.file, error.place.line) == (file, line)
    assert all(word in str(error) for word in words), str(error)


def test_one_run_shows_every_error(layout: Platform) -> None:
    write(layout.pipelines / "temperature.yaml", PIPELINE | {"format": "xml", "partitions": "0"})
    write(layout.pipelines / "vibration.yaml", without(PIPELINE, "sites") | {"name": "vibration"})
    with pytest.raises(SpecErrors) as caught:
        load_pipelines(layout)
    assert [error.place.file.stem for error in caught.value.errors] == [
        "temperature",
        "temperature",
        "vibration",
    ]


def test_two_pipelines_never_write_one_table(layout: Platform) -> None:
    write(layout.pipelines / "copy.yaml", PIPELINE | {"name": "copy"})
    with pytest.raises(SpecErrors, match="written by pipeline 'copy' already"):
        load_pipelines(layout)


def test_local_brokers_never_share_a_port(layout: Platform) -> None:
    for name, port in (("plant-a", 19092), ("plant-b", 19094)):
        keys = {"name": name, "bootstrap": f"127.0.0.1:{port}", "local": "{}"}
        write(layout.sites / f"{name}.yaml", keys)
    with pytest.raises(SpecErrors, match="needs port 19094, which site 'plant-a' has"):
        load_sites(layout)


def test_defaults_are_safe(layout: Platform) -> None:
    (pipeline,) = load_pipelines(layout)
    assert pipeline.freshness.total_seconds() == 2
    assert pipeline.supervise.restarts_per_hour == 5
    assert pipeline.runner == "local"
