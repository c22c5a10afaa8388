"""What a gateway's file points at: librdkafka's settings, the password, certificates."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.gateway.routes.core.risk import ASK, RISK, unsealed
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.gateway.spec.core.input_specs import Tls
from millrace.secrets.core.revoked import revoked_in
from millrace.sites.core.spec import ClientSettings, SiteSpec
from millrace.storage.io.properties import read_properties

log = logging.getLogger(__name__)
# Whether who is connected by this transport may stay.
Admission = Callable[[asyncio.BaseTransport | None], bool]
_PATHS = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")


def with_places(spec: GatewaySpec, folder: Path) -> GatewaySpec:
    """Paths in a gateway's file begin where the file lies."""

    def placed(value: object) -> object:
        if isinstance(value, Path):
            return folder / value
        if isinstance(value, dict):
            return {key: placed(one) for key, one in value.items()}
        if isinstance(value, tuple | list):
            return [placed(one) for one in value]
        return value

    return GatewaySpec.model_validate(placed(spec.model_dump()))


def read_client(spec: GatewaySpec) -> ClientSettings:
    file = spec.broker.settings
    settings: ClientSettings = dict(read_properties(file))
    if "bootstrap.servers" not in settings:
        raise MillraceError(f"{file}: bootstrap.servers is missing; take the file of the bundle")
    _check_sealed(spec, settings)
    for key in _PATHS:
        if key in settings:
            settings[key] = str(file.parent / str(settings[key]))
    return settings


def _check_sealed(spec: GatewaySpec, settings: ClientSettings) -> None:
    found = unsealed(settings)
    if found and not spec.broker.risk:
        key, instead = found
        raise MillraceError(
            f"{spec.broker.settings}: {key}={settings.get(key, '')}: {RISK} on the way to the"
            f" broker; write {key}={instead}, or {ASK!r} under broker: in the gateway's file"
        )


def site_of(spec: GatewaySpec, settings: ClientSettings) -> SiteSpec:
    return SiteSpec(name=spec.site, bootstrap=str(settings["bootstrap.servers"]))


def read_login(spec: GatewaySpec, settings: ClientSettings) -> dict[str, str]:
    """As it is by now: a rotated password comes with a new file."""
    own = read_properties(spec.broker.password)
    if "sasl.password" not in own:
        raise MillraceError(f"{spec.broker.password}: sasl.password is missing")
    user = own.get("sasl.username", str(settings.get("sasl.username", "")))
    return {"sasl.username": user, "sasl.password": own["sasl.password"]}


class ServerTls:
    """A server's certificate, and who may connect. What changes on disk counts from the next
    connection on; a file that is seen half written, or before its key's, when it is whole."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._told = ""
        self._revoked: frozenset[str] = frozenset()
        self._seen = self._stamps()
        self._trusted = self._authorities()
        # Another one with each change: neither certificate nor session of before counts for it.
        self.context = self._make()
        # How often the certificate of who was connected might not be used any more.
        self.turned_away = 0

    def renew(self) -> Admission | None:
        """By what those who are connected have to be looked at again; None: they stay."""
        try:
            stamps = self._stamps()
            if stamps == self._seen:
                return None
            self.context = self._make()
        except (OSError, MillraceError) as error:
            if str(error) != self._told:
                log.warning("%s: not taken up: %s", self._tls.certificate, error)
            self._told = str(error)
            return None
        trusted, self._trusted = self._trusted, self._authorities()
        changed = [file for file in stamps if stamps[file] != self._seen.get(file)]
        self._seen, self._told = stamps, ""
        log.info("%s: changed, and in use now", ", ".join(map(str, changed)))
        if self._trusted != trusted:
            # Only a new handshake can tell whom the new ones have signed.
            return lambda _: False
        return self.admits if self._tls.revoked in changed else None

    def admits(self, transport: asyncio.BaseTransport | None) -> bool:
        """Whether the certificate of who is connected may still be used."""
        if self._tls.clients is None or transport is None:
            return True
        connected = transport.get_extra_info("ssl_object")
        shown: bytes | None = connected.getpeercert(binary_form=True) if connected else None
        admitted = shown is not None and hashlib.sha256(shown).hexdigest() not in self._revoked
        self.turned_away += not admitted
        return admitted

    def _make(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._tls.certificate, self._tls.key or self._tls.certificate)
        if self._tls.clients:
            context.load_verify_locations(self._tls.clients)
            context.verify_mode = ssl.CERT_REQUIRED
            # A session that is taken up again shows no certificate anew.
            context.options |= ssl.OP_NO_TICKET
            context.num_tickets = 0
        self._revoked = _read_revoked(self._tls.revoked)
        return context

    def _authorities(self) -> bytes:
        return self._tls.clients.read_bytes() if self._tls.clients else b""

    def _stamps(self) -> dict[Path, int]:
        files = (self._tls.certificate, self._tls.key, self._tls.clients, self._tls.revoked)
        return {file: file.stat().st_mtime_ns for file in files if file}


def _read_revoked(file: Path | None) -> frozenset[str]:
    try:
        return revoked_in(file.read_text()) if file else frozenset()
    except ValueError as error:
        raise MillraceError(f"{file}: {error}") from error
