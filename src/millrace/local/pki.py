"""The local stack's own CA and certificates: made once, renewed in time, never shown."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from millrace.core.errors import MillraceError
from millrace.core.layout import Layout
from millrace.local import certificates as x509
from millrace.state.files import read_text, write_atomic, write_new


class BrokenPkiError(MillraceError):
    """The CA's files cannot be used, and making new ones would lock out who trusts the old."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(
            f"{file}: {problem}; put back the file from a backup, or delete the folder"
            f" {file.parent} and start again to make new certificates for everything"
        )
        self.file = file


def ensure_certificate(layout: Layout, site: str, owner: str, common_name: str) -> Path:
    """One PEM file with key, certificate and CA of `owner` at a site."""
    file = layout.certificate(site, owner)
    authority, now = ensure_authority(layout), datetime.now(UTC)
    if not _is_good_bundle(file, authority, common_name, now):
        key = x509.new_key()
        leaf = x509.make_leaf(authority, key, common_name, now)
        write_atomic(file, x509.key_pem(key) + _chain(leaf, authority))
    return file


def ensure_server_certificate(layout: Layout, name: str) -> tuple[Path, Path]:
    """Chain and key of an HTTPS server, two files, as web servers want them."""
    folder = layout.pki / name
    chain, key_file = folder / "cert.pem", folder / "key.pem"
    authority, now = ensure_authority(layout), datetime.now(UTC)
    key = _ensure_key(key_file)
    if not _is_good_chain(chain, key, authority, name, now):
        write_atomic(chain, _chain(x509.make_leaf(authority, key, name, now), authority))
    return chain, key_file


def ensure_authority(layout: Layout) -> x509.Authority:
    """The CA; its key is written first, so a crash between the two files does no harm."""
    key_file = layout.pki / "ca-key.pem"
    if layout.ca.exists() and not key_file.exists():
        raise BrokenPkiError(key_file, "the key of the CA is missing")
    key = _ensure_key(key_file)
    if not layout.ca.exists():
        made = x509.make_authority(key, datetime.now(UTC))
        write_new(layout.ca, x509.certificate_pem(made))
    try:
        certificate = x509.read_certificate(layout.ca.read_text())
    except ValueError as error:
        raise BrokenPkiError(layout.ca, "this is no certificate") from error
    if not x509.belong_together(certificate, key):
        raise BrokenPkiError(layout.ca, f"it does not fit its key {key_file.name}")
    return x509.Authority(key, certificate)


def _ensure_key(file: Path) -> ec.EllipticCurvePrivateKey:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not file.exists():
        write_new(file, x509.key_pem(x509.new_key()))
    try:
        return x509.read_key(file.read_text())
    except ValueError as error:
        raise BrokenPkiError(file, "this is no private key") from error


def _is_good_bundle(file: Path, authority: x509.Authority, owner: str, now: datetime) -> bool:
    """A leaf is cheap: whatever is wrong with one, it is made anew."""
    try:
        key = x509.read_key(read_text(file) or "")
    except ValueError:
        return False
    return _is_good_chain(file, key, authority, owner, now)


def _is_good_chain(
    file: Path,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Authority,
    owner: str,
    now: datetime,
) -> bool:
    text = read_text(file) or ""
    try:
        leaf = x509.read_certificate(text)
    except ValueError:
        return False
    whole = text.endswith(x509.certificate_pem(authority.certificate))
    return whole and x509.is_good_leaf(leaf, key, authority, owner, now)


def _chain(leaf: x509.x509.Certificate, authority: x509.Authority) -> str:
    return x509.certificate_pem(leaf) + x509.certificate_pem(authority.certificate)
