"""How a way without TLS has to be asked for: by a second key, in words that say what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Risk = Literal["anybody can read and alter it"]
RISK: Risk = "anybody can read and alter it"
ASK = f"risk: {RISK}"
_SEALED = ("sasl_ssl", "ssl")


def check_sealed(*, has_tls: bool, plain: bool, risk: Risk | None, with_tls: str) -> None:
    """`with_tls`: what to write instead."""
    if has_tls and (plain or risk):
        raise ValueError("it has tls, and plain or risk; write tls alone, or both of the others")
    if not has_tls and not (plain and risk):
        raise ValueError(
            f"it has no tls, so anybody could read and alter what comes in; give it {with_tls}, or"
            f" write plain: true and {ASK!r} where the other end can't do better"
        )


def unsealed(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """Of librdkafka's settings: what leaves the way to a broker open, and what to write instead."""

    def said(key: str, otherwise: str) -> str:
        return str(settings.get(key, otherwise)).strip().lower()

    if said("security.protocol", "plaintext") not in _SEALED:
        return "security.protocol", "SASL_SSL"
    if said("enable.ssl.certificate.verification", "true") not in ("true", "1", "t"):
        return "enable.ssl.certificate.verification", "true"
    if said("ssl.endpoint.identification.algorithm", "https") != "https":
        return "ssl.endpoint.identification.algorithm", "https"
    return None
