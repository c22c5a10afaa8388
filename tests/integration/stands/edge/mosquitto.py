"""mosquitto in the other MQTT broker's place, where it is installed: `pytest --mosquitto`."""

from __future__ import annotations

import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from millrace.base.addresses import LOCAL_NAMES
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_certificate
from tests.integration.stands.edge.mqtt_broker import (
    GATEWAY_PASSWORD,
    GATEWAY_USER,
    PASSWORD,
    USER,
    RunningMqtt,
)
from tests.support import free_ports

_FOUND = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
_CONFIG = """\
listener {port} 127.0.0.1
certfile {certificate}
keyfile {certificate}
user root
per_listener_settings false
allow_anonymous false
password_file {folder}/users

listener {second_port} 127.0.0.1
certfile {certificate}
keyfile {certificate}
cafile {ca}
require_certificate true
use_identity_as_username true
persistence true
persistence_location {folder}/data/
autosave_on_changes true
autosave_interval 1
max_queued_messages 0
"""


@dataclass
class RunningMosquitto(RunningMqtt):
    @classmethod
    def prepare(cls, layout: Platform, folder: Path) -> RunningMosquitto:
        assert _FOUND, "there is no mosquitto: apt-get install mosquitto"
        folder.mkdir()
        (folder / "data").mkdir()
        running = cls(layout, folder, free_ports(2))
        certificate = ensure_certificate(
            layout, layout.certificate("mqtt", "broker"), "mqtt", Role.SERVER, LOCAL_NAMES
        )
        ports = {"port": running.port, "second_port": running.port + 1}
        text = _CONFIG.format(**ports, certificate=certificate, ca=layout.ca, folder=folder)
        (folder / "mosquitto.conf").write_text(text)
        running.set_users({USER: PASSWORD, GATEWAY_USER: GATEWAY_PASSWORD})
        return running

    @property
    def address_for_certificates(self) -> str:
        return f"localhost:{self.port + 1}"

    def set_users(self, passwords: dict[str, str]) -> None:
        users = self.folder / "users"
        users.write_text("".join(f"{user}:{word}\n" for user, word in passwords.items()))
        users.chmod(0o600)
        # It reads hashes alone, and its own tool makes them of what stands there.
        subprocess.run([str(shutil.which("mosquitto_passwd")), "-U", users], check=True)
        if self.process:
            self.process.send_signal(signal.SIGHUP)

    def _program(self) -> Program:
        return Program(
            name="mqtt",
            command=(str(_FOUND), "-c", str(self.folder / "mosquitto.conf")),
            directory=self.folder,
            log=self.folder / "log",
            priority=10,
        )
