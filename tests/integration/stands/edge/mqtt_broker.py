"""A site's MQTT broker as a process of its own: HiveMQ, by TLS, with sessions that last."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from millrace.base.addresses import LOCAL_NAMES
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_certificate
from tests.support import free_ports, start, wait_until

_SOURCE = Path(__file__).with_name("MqttBroker.java")
_START_S = 60
USER, PASSWORD = "device", "device-secret"
GATEWAY_USER, GATEWAY_PASSWORD = "gateway", "gateway-secret"


@dataclass
class RunningMqtt:
    layout: Platform
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def prepare(cls, layout: Platform, folder: Path) -> RunningMqtt:
        folder.mkdir()
        (folder / "extensions").mkdir()
        (folder / "data").mkdir()
        running = cls(layout, folder, free_ports(1))
        bundle = ensure_certificate(
            layout, layout.certificate("mqtt", "broker"), "mqtt", Role.SERVER, LOCAL_NAMES
        ).read_bytes()
        key = load_pem_private_key(bundle, None)
        leaf, *others = x509.load_pem_x509_certificates(bundle)
        encryption = BestAvailableEncryption(b"changeit")
        keys = pkcs12.serialize_key_and_certificates(b"broker", key, leaf, others, encryption)  # type: ignore[arg-type]
        (folder / "keys.p12").write_bytes(keys)
        authority = pkcs12.PKCS12Certificate(others[-1], b"ca")
        trusted = pkcs12.serialize_java_truststore([authority], encryption)
        (folder / "trust.p12").write_bytes(trusted)
        (folder / "config.xml").write_text(_CONFIG.format(folder=folder, port=running.port))
        users = {USER: PASSWORD, GATEWAY_USER: GATEWAY_PASSWORD}
        running.set_users(users)
        return running

    def set_users(self, passwords: dict[str, str]) -> None:
        lines = [f"{user}={password}\n" for user, password in passwords.items()]
        (self.folder / "users.properties").write_text("".join(lines))

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    @property
    def address_for_certificates(self) -> str:
        """Where a certificate is enough."""
        return self.address

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.layout.ca))

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def start(self) -> None:
        self.process = start(self._program())
        wait_until(self._listens, _START_S, "the MQTT broker listening")

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.process:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def _program(self) -> Program:
        jars = f"{self.layout.jars('mqtt')}/*"
        java = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *_OPENED)
        return Program(
            name="mqtt",
            command=(*java, "-cp", jars, str(_SOURCE), str(self.folder), f"{self.folder}/data"),
            directory=self.folder,
            log=self.folder / "log",
            priority=10,
            # What it unpacks of its own goes with it.
            environment={"JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={self.folder}"},
        )

    def _listens(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"the MQTT broker ended:\n{self.log}"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


# As its own start script has them.
_OPENED = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.nio", "sun.nio.ch", "jdk.internal.misc")
)
_CONFIG = """\
<?xml version="1.0"?>
<hivemq>
  <listeners>
    <tls-tcp-listener>
      <port>{port}</port>
      <bind-address>127.0.0.1</bind-address>
      <tls>
        <keystore>
          <path>{folder}/keys.p12</path>
          <password>changeit</password>
          <private-key-password>changeit</private-key-password>
        </keystore>
        <truststore><path>{folder}/trust.p12</path><password>changeit</password></truststore>
        <client-authentication-mode>OPTIONAL</client-authentication-mode>
      </tls>
    </tls-tcp-listener>
  </listeners>
  <mqtt>
    <queued-messages><max-queue-size>1000000</max-queue-size></queued-messages>
    <receive-maximum><server-receive-maximum>1000</server-receive-maximum></receive-maximum>
  </mqtt>
  <anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics>
</hivemq>
"""
