"""By what an MQTT broker knows us, and we know it; taken up anew when a file changes."""

from __future__ import annotations

import ssl
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.gateway.spec.core.mqtt_input import ClientTls, MqttInput
from millrace.storage.io.private_file import read_private


class MqttAccess:
    def __init__(self, spec: MqttInput) -> None:
        self._tls = spec.tls
        self._login = spec.login
        self.context = _context(spec.tls) if spec.tls else None
        self.user: str | None = None
        self.password: str | None = None
        self.renew()

    def renew(self) -> None:
        """Before each connection."""
        if self.context and self._tls and self._tls.certificate:
            _load(self.context, self._tls.certificate, self._tls.key)
        if self._login:
            self.user, self.password = _read_login(self._login)


def _context(tls: ClientTls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
    except OSError as error:
        raise MillraceError(f"{tls.ca}: {error}; tls.ca is the MQTT broker's authority") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _load(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise MillraceError(f"{certificate}: {error}; it is what tls.certificate names") from error


def _read_login(file: Path) -> tuple[str, str]:
    lines = [line.partition("=") for line in read_private(file).splitlines() if line.strip()]
    found = {key.strip(): value.strip() for key, _, value in lines}
    if set(found) != {"username", "password"}:
        raise MillraceError(f"{file}: it has to hold username=... and password=..., a line each")
    return found["username"], found["password"]
