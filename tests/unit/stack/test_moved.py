"""A `var` of before: passwords stay what they are, certificates that were good for anything go."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import ensure_user, known_users, read_user
from millrace.stack.io.checks import open_var

OLD = {
    "secrets/plant-a/app.properties": "username=app\npassword=a\n",
    "secrets/plant-a/gateway.next": "username=gateway\npassword=g\n",
    "secrets/plant-a/platform.properties": "username=platform\npassword=p\n",
    "secrets/schema-registry/reader.properties": "username=reader\npassword=r\n",
    "secrets/spark.properties": "spark",
    "secrets/airflow-password.txt": "word",
    "secrets/airflow.json": "{}",
    "secrets/airflow-connections.json": "{}",
    "secrets/postgres.pgpass": "pass",
    "secrets/webhook.txt": "https://example",
    "pki/plant-a/admin.pem": "admin",
    "pki/plant-a/gateway.pem": "gateway",
    "pki/plant-a/broker.pem": "broker",
    "pki/plant-a/device.pem": "device",
}


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    for name, text in OLD.items():
        file = layout.var / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
    (layout.var_version).write_text("1\n")
    return layout


def files(layout: Platform) -> dict[str, str]:
    found = (path for path in layout.var.rglob("*") if path.is_file() and path.name != "version")
    return {str(path.relative_to(layout.var)): path.read_text() for path in found}


def test_everything_is_where_it_belongs_and_done_again_stays_there(layout):
    open_var(layout)
    moved = files(layout)
    open_var(layout)
    assert files(layout) == moved
    assert moved == {
        "secrets/app/plant-a.properties": OLD["secrets/plant-a/app.properties"],
        "secrets/gateway/plant-a.next": OLD["secrets/plant-a/gateway.next"],
        "secrets/platform/plant-a.properties": OLD["secrets/plant-a/platform.properties"],
        "secrets/reader/schema-registry.properties": OLD[
            "secrets/schema-registry/reader.properties"
        ],
        "secrets/spark/spark.properties": "spark",
        "secrets/airflow/password.txt": "word",
        "secrets/airflow/airflow.json": "{}",
        "secrets/airflow/postgres.pgpass": "pass",
        "secrets/webhook.txt": "https://example",
        "keys/plant-a/admin.pem": "admin",
        "keys/plant-a/gateway.pem": "gateway",
    }


def test_passwords_are_read_as_before_by_nobody_else(layout):
    open_var(layout)
    assert read_user(layout, "plant-a", "app").password == "a"
    assert known_users(layout, "plant-a") == ["app", "platform"]
    made = [path for path in layout.secrets.rglob("*") if path.name != "webhook.txt"]
    assert not [
        path for path in made if path.is_file() and stat.S_IMODE(path.stat().st_mode) != 0o600
    ]


def test_what_is_there_already_is_never_overwritten(layout):
    newer = ensure_user(layout, "plant-a", "app")
    open_var(layout)
    assert read_user(layout, "plant-a", "app") == newer
