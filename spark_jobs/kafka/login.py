"""A light client's login, which may change while the client lives."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Protocol

from millrace.base.errors import TransientError
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.storage.io.files import mtime_ns
from millrace.storage.io.properties import read_properties

log = logging.getLogger(__name__)

# Each look at a secret of AWS's is a call, and paid for.
_SECRET_EVERY_S = 300


class _Client(Protocol):
    def set_sasl_credentials(self, username: str, password: str) -> None: ...


class KafkaLogin:
    """Asked for before each use of the client."""

    def __init__(self, site: SiteInput) -> None:
        self._site = site
        self._version_then: object = None

    def settings(self) -> dict[str, str]:
        """For a client that is made now."""
        self._version_then = self._version()
        if not str(self._site.librdkafka.get("security.protocol", "")).upper().startswith("SASL"):
            return {}
        secret = self._secret()
        return {"sasl.username": secret["username"], "sasl.password": secret["password"]}

    def renew(self, client: _Client) -> None:
        """For its next connection; the one it has goes on, also while the keeper is away."""
        if self._version() == self._version_then:
            return
        try:
            if login := self.settings():
                client.set_sasl_credentials(*login.values())
        except TransientError as error:
            log.debug("site %s: %s", self._site.site, error)

    def _secret(self) -> Mapping[str, str]:
        if not self._site.secret:
            return read_properties(self._site.secret_file)
        # Slow to import, and whoever has a file does not need it.
        from millrace.secrets.io.aws_secrets import read_secret

        return read_secret(self._site.secret)

    def _version(self) -> object:
        """Another one, perhaps another password."""
        if self._site.secret:
            return int(time.monotonic() / _SECRET_EVERY_S)
        return mtime_ns(self._site.secret_file)
