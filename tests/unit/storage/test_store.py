"""Where tables and checkpoints go, and what each part is told of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from millrace.base.errors import SpecErrors
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.storage.core.bucket import Bucket, java_options, spark_settings
from millrace.storage.core.store_server import (
    PORTS_NEEDED,
    TOKENS,
    identities,
    security,
    server_options,
)
from millrace.storage.io.bucket_login import read_login
from millrace.storage.io.objects import FolderObjects

BUCKET = Bucket(name="lake", prefix="site/a")
KEY = "the-secret-key"


def settings(home: Path, text: str = "") -> Settings:
    (home / "dags" / "pipelines").mkdir(parents=True, exist_ok=True)
    (home / "infra").mkdir(exist_ok=True)
    (home / "infra" / "local.yaml").write_text(text or "airflow_port: 8080\n")
    return Settings.from_env({HOME_VARIABLE: str(home)})


def test_without_a_word_all_is_below_var(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    assert (chosen.layout.bucket, chosen.store_port) == (None, None)
    assert chosen.layout.tables("t").silver == f"{tmp_path}/var/lake/silver/t"
    assert chosen.layout.generations("p") == f"{tmp_path}/var/checkpoints/p/generations"


def test_a_choice_is_remembered_until_the_next(tmp_path: Path) -> None:
    assert settings(tmp_path).choose_store("s3").store_port == 8333
    assert settings(tmp_path).layout.lake == "s3a://millrace/lake"
    assert settings(tmp_path).choose_store("folder").layout.bucket is None
    assert settings(tmp_path, "store: s3\n").layout.bucket is None


def test_a_bucket_elsewhere_needs_no_store_here(tmp_path: Path) -> None:
    text = "store: {kind: s3, bucket: lake, prefix: site/a, region: eu-central-1}\n"
    chosen = settings(tmp_path, text)
    assert chosen.layout.bucket == BUCKET.model_copy(update={"region": "eu-central-1"})
    assert chosen.store_port is None
    assert chosen.layout.checkpoint("p", "plant-a") == "s3a://lake/site/a/checkpoints/p/plant-a"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("store: {kind: s3}\n", "'store.bucket' is missing"),
        ("store: {kind: s3, bucket: lake, endpoint: 'http://x'}\n", "store.endpoint='http://x'"),
        ("store: {kind: s3, bucket: lake, secret: x}\n", "unknown key 'store.secret'"),
        ("store: disk\n", "store='disk'"),
    ],
)
def test_a_mistake_in_the_settings_is_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SpecErrors) as caught:
        settings(tmp_path, text)
    assert problem in str(caught.value)


def test_spark_is_told_files_and_never_what_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = me\naws_secret_access_key = {KEY}\n")
    bucket = BUCKET.model_copy(update={"credentials_file": file, "trust_store": Path("/t.p12")})
    told = " ".join((*spark_settings(bucket).values(), *java_options(bucket)))
    assert str(file) in told
    assert "/t.p12" in told
    assert read_login(bucket)["aws_secret_access_key"] == KEY
    assert KEY not in told + bucket.model_dump_json()


def test_aws_needs_no_endpoint_and_finds_its_keys_itself() -> None:
    told = spark_settings(BUCKET)
    assert "spark.hadoop.fs.s3a.endpoint" not in told
    assert told["spark.hadoop.fs.s3a.aws.credentials.provider"].endswith(
        "DefaultCredentialsProvider"
    )
    assert java_options(BUCKET) == ()


def test_the_store_listens_to_this_machine_alone_on_ports_in_a_row() -> None:
    options = server_options(Path("/var/s"), 9000, Path("/c"), Path("/k"), "127.0.0.1")
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"} <= set(options)
    ports = [int(text.partition("=")[2]) for text in options if ".port" in text]
    assert sorted(port for port in ports if port) == list(range(9000, 9000 + PORTS_NEEDED))


def test_each_part_of_the_store_asks_for_a_certificate() -> None:
    text = security(Path("/ca"), Path("/c"), Path("/k"), dict.fromkeys(TOKENS, "token"))
    read = tomllib.loads(text)
    for part in ("master", "volume", "filer", "s3"):
        assert read["grpc"][part]["allowed_commonNames"] == "object-store"
    for part in ("master", "volume", "filer"):
        assert read["https"][part]["ca"] == "/ca"
    assert read["jwt"]["filer_signing"]["read"]["key"] == "token"
    assert read["https"]["client"]["enabled"] is True


def test_only_who_has_the_key_may_use_the_store() -> None:
    (only,) = json.loads(identities("millrace", "me", KEY))["identities"]
    assert only["credentials"] == [{"accessKey": "me", "secretKey": KEY}]


def test_what_must_be_new_is_put_once(tmp_path: Path) -> None:
    place = FolderObjects(tmp_path)
    assert [place.put_new("a/1", text) for text in ("first", "second")] == [True, False]
    assert (place.read("a/1"), place.names("a"), place.names("b")) == ("first", ["1"], [])


def test_a_layout_by_itself_is_of_folders() -> None:
    assert Platform(Path("/home")).table("bronze", "t") == "/home/var/lake/bronze/t"
