"""What a gateway's file points at: librdkafka's settings, the password, certificates."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from millrace.core.errors import MillraceError
from millrace.core.gateway.inputs import Tls
from millrace.core.gateway.spec import GatewaySpec
from millrace.core.site import ClientSettings, SiteSpec
from millrace.state.properties import read_properties

log = logging.getLogger(__name__)
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
    for key in _PATHS:
        if key in settings:
            settings[key] = str(file.parent / str(settings[key]))
    return settings


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
    """A server's certificate; renewed in place, it is taken up by the next connection."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        if tls.clients:
            self.context.load_verify_locations(tls.clients)
            self.context.verify_mode = ssl.CERT_REQUIRED
        self._seen_ns = 0
        self._told = ""
        self._take_up(self._newest_ns())

    def renew(self) -> None:
        """A file that is seen half written, or before its key's, is taken up when it is whole."""
        try:
            newest_ns = self._newest_ns()
            if newest_ns != self._seen_ns:
                self._take_up(newest_ns)
                log.info("%s: taken up", self._tls.certificate)
        except OSError as error:
            if str(error) != self._told:
                log.warning("%s: not taken up: %s", self._tls.certificate, error)
            self._told = str(error)

    def _take_up(self, newest_ns: int) -> None:
        # In a context of its own first: one that fails has lost what it had.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._tls.certificate, self._key)
        self.context.load_cert_chain(self._tls.certificate, self._key)
        self._seen_ns, self._told = newest_ns, ""

    def _newest_ns(self) -> int:
        return max(file.stat().st_mtime_ns for file in (self._tls.certificate, self._key))

    @property
    def _key(self) -> Path:
        return self._tls.key or self._tls.certificate
