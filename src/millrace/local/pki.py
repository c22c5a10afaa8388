"""The local stack's own CA and certificates: made once, renewed in time, never shown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from millrace.core.errors import MillraceError
from millrace.core.layout import Layout
from millrace.local import certificates
from millrace.state.files import make_private, read_text, write_atomic, write_new


class BrokenPkiError(MillraceError):
    """The CA's files cannot be used, and making new ones would lock out who trusts the old."""

    def __init__(self, file: Path, problem: str, made_with_it: Sequence[Path]) -> None:
        folders = " and ".join(map(str, made_with_it))
        super().__init__(
            f"{file}: {problem}; put back the file from a backup, or delete {folders}"
            " and start again to make new ones"
        )
        self.file = file


def ensure_certificate(
    layout: Layout, site: str, owner: str, common_name: str, hosts: Sequence[str] = ()
) -> Path:
    """One PEM file with key, certificate and CA of `owner` at a site."""
    file = layout.certificate(site, owner)
    make_private(layout.pki, file.parent)
    authority, now = ensure_authority(layout), datetime.now(UTC)
    if not _is_good_bundle(file, authority, common_name, now, hosts):
        key = certificates.new_key()
        leaf = certificates.make_leaf(authority, key, common_name, now, hosts)
        write_atomic(file, certificates.key_pem(key) + _chain(leaf, authority))
    return file


def ensure_server_certificate(
    layout: Layout, name: str, hosts: Sequence[str] = ()
) -> tuple[Path, Path]:
    """Chain and key of an HTTPS server, two files, as web servers want them."""
    folder = layout.pki / name
    make_private(layout.pki, folder)
    chain, key_file = folder / "cert.pem", folder / "key.pem"
    authority, now = ensure_authority(layout), datetime.now(UTC)
    key = _ensure_key(key_file, [folder])
    if not _is_good_chain(chain, key, authority, name, now, hosts):
        leaf = certificates.make_leaf(authority, key, name, now, hosts)
        write_atomic(chain, _chain(leaf, authority))
    return chain, key_file


def ensure_authority(layout: Layout) -> certificates.Authority:
    """The CA; its key is written first, so a crash between the two files does no harm."""
    key_file, all_of_it = layout.ca_key, (layout.pki, layout.ca_key.parent)
    make_private(layout.pki, key_file.parent)
    _move_in(layout.pki / key_file.name, key_file)
    if layout.ca.exists() and not key_file.exists():
        raise BrokenPkiError(key_file, "the key of the CA is missing", all_of_it)
    key = _ensure_key(key_file, all_of_it)
    if not layout.ca.exists():
        made = certificates.make_authority(key, datetime.now(UTC))
        write_new(layout.ca, certificates.certificate_pem(made))
    try:
        certificate = certificates.read_certificate(layout.ca.read_text())
    except ValueError as error:
        raise BrokenPkiError(layout.ca, "this is no certificate", all_of_it) from error
    if not certificates.belong_together(certificate, key):
        raise BrokenPkiError(layout.ca, f"it does not fit its key {key_file.name}", all_of_it)
    return certificates.Authority(key, certificate)


def _move_in(old: Path, new: Path) -> None:
    """Where it lay before it had a folder of its own."""
    if old.exists() and not new.exists():
        old.replace(new)


def _ensure_key(file: Path, made_with_it: Sequence[Path]) -> ec.EllipticCurvePrivateKey:
    if not file.exists():
        write_new(file, certificates.key_pem(certificates.new_key()))
    try:
        return certificates.read_key(file.read_text())
    except ValueError as error:
        raise BrokenPkiError(file, "this is no private key", made_with_it) from error


def _is_good_bundle(
    file: Path,
    authority: certificates.Authority,
    owner: str,
    now: datetime,
    hosts: Sequence[str],
) -> bool:
    """A leaf is cheap: whatever is wrong with one, it is made anew."""
    try:
        key = certificates.read_key(read_text(file) or "")
    except ValueError:
        return False
    return _is_good_chain(file, key, authority, owner, now, hosts)


def _is_good_chain(
    file: Path,
    key: ec.EllipticCurvePrivateKey,
    authority: certificates.Authority,
    owner: str,
    now: datetime,
    hosts: Sequence[str] = (),
) -> bool:
    text = read_text(file) or ""
    try:
        leaf = certificates.read_certificate(text)
    except ValueError:
        return False
    whole = text.endswith(certificates.certificate_pem(authority.certificate))
    return whole and certificates.is_good_leaf(leaf, key, authority, owner, now, hosts)


def _chain(leaf: x509.Certificate, authority: certificates.Authority) -> str:
    return certificates.certificate_pem(leaf) + certificates.certificate_pem(authority.certificate)
