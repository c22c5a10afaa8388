"""The broker's files, its process, and what of its secrets can be seen."""

from __future__ import annotations

import stat
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient, ConfigResource

from millrace.platform.core.platform import Platform
from millrace.stack.io.brokers.local_broker import prepare_broker

USERS = ("ingest", "app", "simulator", "gateway", "registrar")


def modes(folder: Path) -> dict[Path, int]:
    return {path: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


def test_keys_passwords_and_settings_are_for_their_owner_only(site):
    layout: Platform = site.layout
    # The trust store is for all to read: it holds no key, and Java wrote it.
    folders = (layout.pki, layout.ca_key.parent, layout.secrets, layout.keys("plant-t"))
    files = {file: mode for folder in folders for file, mode in modes(folder).items()}
    files.pop(layout.trust_store, None)
    broker = layout.broker("plant-t")
    for file in (layout.broker_certificate("plant-t"), broker / "server.properties"):
        files[file] = stat.S_IMODE(file.stat().st_mode)
    assert len(files) > len(USERS) + 3
    assert {path: oct(mode) for path, mode in files.items() if mode != 0o600} == {}


def test_folders_of_secrets_are_shut(site):
    folders = [site.layout.secrets, site.layout.secrets_of("app"), site.layout.pki]
    folders += [
        site.layout.ca_key.parent,
        site.layout.keys("plant-t"),
        site.layout.broker("plant-t"),
    ]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_no_password_can_be_seen_from_outside(site):
    process = psutil.Process(site.process.pid)
    places = {
        "command line": " ".join(process.cmdline()),
        "environment": str(process.environ()),
        "log": site.log,
        "settings": (site.layout.broker("plant-t") / "server.properties").read_text(),
        "settings over the wire": _described_settings(site),
    }
    secrets = [site.password_of(user) for user in USERS]
    secrets += ["PRIVATE KEY"]
    assert [name for name, text in places.items() if any(s in text for s in secrets)] == []


def _described_settings(site) -> str:
    broker = ConfigResource(ConfigResource.Type.BROKER, "1")
    admin = AdminClient(site.admin)
    entries = admin.describe_configs([broker])[broker].result(timeout=10)
    assert "super.users" in entries
    return "\n".join(f"{key}={entry.value}" for key, entry in entries.items())


def test_broker_listens_on_this_machine_only_and_never_in_plain_text(site):
    listening = {
        connection.laddr
        for connection in psutil.Process(site.process.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    spec = site.spec
    assert {address.port for address in listening} == {
        spec.port,
        spec.admin_port,
        spec.controller_port,
    }
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    protection = "listener.security.protocol.map=CLIENT:SASL_SSL,LOCAL:SSL,CONTROLLER:SSL"
    assert protection in _described_settings(site)


def test_preparing_again_keeps_storage_and_certificates(site):
    def stamp() -> dict[Path, float]:
        broker = site.layout.broker("plant-t")
        keys = [*site.layout.keys("plant-t").rglob("*.pem"), *broker.glob("*.pem")]
        files = [*keys, *broker.rglob("meta*")]
        return {path: path.stat().st_mtime for path in files}

    before = stamp()
    assert prepare_broker(site.spec, site.layout) == site.program
    assert stamp() == before
    assert any(path.name == "meta.properties" for path in before)


def test_log_is_one_line_per_event(site):
    lines = site.log.splitlines()
    assert lines
    assert [line for line in lines if not line.startswith("20")] == []


def test_storage_left_half_formatted_is_formatted_again(site):
    """The broker of another site in the same home; only its storage is made."""
    spec = site.spec.model_copy(update={"name": "plant-half"})
    folder = site.layout.broker("plant-half")
    (folder / "data.draft").mkdir(parents=True)
    (folder / "data.draft" / "meta.properties").write_text("half a li")
    prepare_broker(spec, site.layout)
    assert "cluster.id=M" in (folder / "data" / "meta.properties").read_text()
    assert sorted(path.name for path in folder.iterdir()) == [
        "broker.pem",
        "data",
        "server.properties",
    ]
