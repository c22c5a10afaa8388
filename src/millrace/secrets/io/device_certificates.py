"""Certificates of a site's devices: issued, listed, revoked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.base.names import LETTERS, IssuedName, check_named
from millrace.secrets.core import certificates
from millrace.secrets.core.certificates import Role
from millrace.secrets.core.revoked import revoked_in, revoked_line
from millrace.secrets.io.pki import ensure_certificate, ensure_device_authority
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import make_private, read_text, write_atomic

_HEAD = "# Who is let in no more: SHA-256 fingerprint of the certificate, device, since when.\n"


class DeviceError(MillraceError):
    """What is asked for of a device cannot be."""


class DeviceCertificate(Frozen):
    """`expires` is None of what was revoked: nothing but its fingerprint is kept."""

    name: str
    fingerprint: str
    expires: datetime | None = None
    revoked: str = ""


def first_device(site: str) -> str:
    """Its certificate comes with the bundle of the gateway."""
    return f"{site}-device"


def issue(layout: Paths, site: str, name: str) -> Path:
    """The file of its key and certificate; the same again while they have time left."""
    _check(name)
    authority = ensure_device_authority(layout, site)
    make_private(layout.devices(site).parent, layout.devices(site))
    file = layout.device(site, name)
    return ensure_certificate(layout, file, name, Role.CLIENT, authority=authority)


def list_devices(layout: Paths, site: str) -> list[DeviceCertificate]:
    issued = [_issued(layout, site, file.stem) for file in _files(layout, site)]
    lines = [line.split(maxsplit=2) for line in revoked_text(layout, site).splitlines()]
    revoked = [
        DeviceCertificate(name=words[1], fingerprint=words[0], revoked=words[2])
        for words in lines
        if len(words) == 3 and not words[0].startswith("#")
    ]
    return [*issued, *revoked]


def revoke(layout: Paths, site: str, name: str, fingerprint: str = "") -> DeviceCertificate:
    """Its line in the list first, then its key goes. `fingerprint`: of one that is not here."""
    _check(name)
    file = layout.device(site, name)
    if not fingerprint:
        if not file.exists():
            known = ", ".join(one.stem for one in _files(layout, site)) or "none"
            raise DeviceError(
                f"there is no certificate of device {name!r} of site {site!r} here (there are:"
                f" {known}); of one that is elsewhere say --fingerprint"
            )
        fingerprint = _issued(layout, site, name).fingerprint
    fingerprint = fingerprint.replace(":", "").lower()
    line = revoked_line(fingerprint, name, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    text = f"{revoked_text(layout, site)}{line}\n"
    try:
        revoked_in(text)
    except ValueError as error:
        raise DeviceError(f"{layout.revoked(site)}: {error}") from error
    make_private(layout.devices(site).parent, layout.devices(site))
    write_atomic(layout.revoked(site), text)
    if file.exists() and _issued(layout, site, name).fingerprint == fingerprint:
        file.unlink()
    return DeviceCertificate(name=name, fingerprint=fingerprint, revoked=line.split()[2])


def _check(name: str) -> None:
    check_named(IssuedName, name, "device", f"up to 64 {LETTERS}, a letter or digit first")


def revoked_text(layout: Paths, site: str) -> str:
    return read_text(layout.revoked(site)) or _HEAD


def _files(layout: Paths, site: str) -> list[Path]:
    return sorted(layout.devices(site).glob("*.pem"))


def _issued(layout: Paths, site: str, name: str) -> DeviceCertificate:
    certificate = certificates.read_certificate(layout.device(site, name).read_text())
    return DeviceCertificate(
        name=name,
        fingerprint=certificates.fingerprint(certificate),
        expires=certificate.not_valid_after_utc,
    )
