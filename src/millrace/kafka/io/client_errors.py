"""What a Kafka client reports, said as a sentence that names the site and the reason.

librdkafka tells the reason (a wrong password, another CA) to `error_cb` alone; the call itself
only times out. So every client of ours has a `Watch`, and asks it what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError

from millrace.base.errors import MillraceError, TransientError
from millrace.sites.core.spec import ClientSettings, SiteSpec


class SiteError(MillraceError):
    """A site did not do what it was asked."""

    def __init__(self, site: str, reason: str) -> None:
        super().__init__(f"site {site!r}: {reason}")
        self.site = site
        self.reason = reason


class UnreachableError(SiteError, TransientError):
    """Nobody answers; that may pass by itself."""


class RefusedError(SiteError):
    """The site, or our own side, refuses to talk: password, certificate, rights."""


class UnknownTopicError(SiteError):
    """The site has no such topic."""


_NO_RIGHT = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
}
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)  # noqa: SLF001
_TIMED_OUT = KafkaError._MSG_TIMED_OUT  # noqa: SLF001
# Says only that there is trouble, and comes after the error that says which.
_EMPTY = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - public, but spelt so by librdkafka


class Watch:
    """A client's `error_cb`: remembers the last error that says why."""

    def __init__(self, site: SiteSpec, settings: Mapping[str, object]) -> None:
        self._site = site
        self._settings = settings
        self._telling: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        if error.code() != _EMPTY:
            self._telling = error

    @property
    def has_reason(self) -> bool:
        return self._telling is not None

    @property
    def is_refused(self) -> bool:
        """Whether the last reason was user and password."""
        return (
            self._telling is not None and self._telling.code() == KafkaError._AUTHENTICATION  # noqa: SLF001 - its name
        )

    def forget(self) -> None:
        """All is well again."""
        self._telling = None

    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError:
        """The reason for `error` (of a call about topic or group `name`) or for silence."""
        if error is not None and error.code() in _NO_RIGHT:
            return self._no_right(_NO_RIGHT[error.code()], name)
        if error is not None and error.code() in _NO_TOPIC:
            return UnknownTopicError(self._site.name, f"there is no topic {name!r}")
        if self._telling is None and error is not None and error.code() == _TIMED_OUT:
            return self._too_late(name)
        telling = self._telling or error
        handler = _REASONS.get(telling.code()) if telling else None
        return handler(self, telling) if handler and telling else self._silent(telling)

    def _no_right(self, resource: str, name: str) -> SiteError:
        # A site has one cluster: a name is the topic's or group's that was asked for.
        what = "the cluster" if resource == "cluster" else f"{resource} {name!r}"
        text = f"user {self._user} has no right to use {what}; provision the site,"
        return RefusedError(self._site.name, f"{text} or use a user who has it")

    def _too_late(self, name: str) -> SiteError:
        """A broker that never came up for this message, or a topic that it does not have."""
        if not self._talks_tls:
            return self._silent(None)
        text = f"nothing for topic {name!r} was taken in time; is the site up, has it the topic?"
        return UnreachableError(self._site.name, text)

    def _bad_login(self, error: KafkaError) -> SiteError:
        if "nsupported SASL mechanism" in error.str():
            asked = self._settings.get("sasl.mechanism")
            return self._refused(f"it does not take sasl.mechanism={asked}; use SCRAM-SHA-512")
        return self._refused(f"wrong password for user {self._user}, or no such user")

    def _bad_tls(self, error: KafkaError) -> SiteError:
        if not _is_foreign_ca(error):
            return self._refused(f"TLS failed: {_shortened(error)}")
        ca = self._settings.get("ssl.ca.location", "(none)")
        return self._refused(f"its certificate is not signed by the CA in ssl.ca.location={ca}")

    def _bad_connection(self, error: KafkaError) -> SiteError:
        if _is_foreign_ca(error):
            return self._bad_tls(error)
        if "certificate" in error.str():
            key = self._settings.get("ssl.certificate.location", "(none)")
            text = f"it does not take our certificate, ssl.certificate.location={key}"
            return self._refused(text)
        return self._silent(error)

    def _silent(self, error: KafkaError | None) -> SiteError:
        server = self._settings.get("bootstrap.servers")
        if not self._talks_tls and not _is_refused_connection(error):
            text = f"it talks TLS only and security.protocol is {self._protocol}; use SASL_SSL"
            return self._refused(text)
        detail = f": {_shortened(error)}" if error else ""
        return UnreachableError(self._site.name, f"no answer from {server}{detail}")

    def _refused(self, reason: str) -> SiteError:
        return RefusedError(self._site.name, reason)

    @property
    def _protocol(self) -> str:
        return str(self._settings.get("security.protocol", "PLAINTEXT")).upper()

    @property
    def _talks_tls(self) -> bool:
        return self._protocol in ("SSL", "SASL_SSL")

    @property
    def _user(self) -> str:
        return repr(self._settings.get("sasl.username", "(none)"))


_REASONS: dict[int, Callable[[Watch, KafkaError], SiteError]] = {
    KafkaError._AUTHENTICATION: Watch._bad_login,  # noqa: SLF001
    KafkaError._SSL: Watch._bad_tls,  # noqa: SLF001
    KafkaError._TRANSPORT: Watch._bad_connection,  # noqa: SLF001
}


def watched(settings: ClientSettings, watch: Watch) -> dict[str, Any]:
    """A client's settings with its watch; librdkafka's own lines on stderr are silenced."""
    return {**settings, "error_cb": watch, "log_level": 2}


def _is_refused_connection(error: KafkaError | None) -> bool:
    return error is not None and "Connect to" in error.str()


def _is_foreign_ca(error: KafkaError) -> bool:
    """Reported as `_SSL`, or as `_TRANSPORT` when the handshake ends while we are writing."""
    return "certificate verify failed" in error.str()


def _shortened(error: KafkaError) -> str:
    """Without the address in front and the timing behind."""
    text = str(error.str()).partition(" (after ")[0]
    return text.rpartition("/bootstrap: ")[2]
