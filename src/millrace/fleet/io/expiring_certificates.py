"""Certificates on this machine that end soon: people hear of them before anything stands still."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from millrace.fleet.core.platform_status import EndingCertificate
from millrace.secrets.core import certificates
from millrace.settings.core.paths import Paths

# All that they sign ends with them, and everybody has to be handed new ones.
_AUTHORITY_WARNING = timedelta(days=365)


def ending(layout: Paths, now: datetime) -> tuple[EndingCertificate, ...]:
    """The next first. Devices are told of by `millrace site device list`: there may be many."""
    found = ((until, file) for file in _files(layout) if (until := _warned_of(file, now)))
    return tuple(EndingCertificate(file=file, until=until) for until, file in sorted(found))


def _files(layout: Paths) -> Iterator[Path]:
    yield from layout.pki.rglob("*.pem")
    yield from (layout.var / "keys").glob("*/*.pem")
    yield from (layout.var / "kafka").glob("*/broker.pem")


def _warned_of(file: Path, now: datetime) -> datetime | None:
    """Its end, where that is near. What holds no certificate, or is not ours to read, has none."""
    try:
        first, *others = certificates.read_certificates(file.read_text())
    except (OSError, ValueError):
        return None
    if not certificates.is_authority(first):
        return certificates.end_to_renew(first, now)
    # While a new one takes the place of an old one, both are in the file.
    end = max(one.not_valid_after_utc for one in (first, *others))
    return end if end < now + _AUTHORITY_WARNING else None
