"""The stack's authorities and certificates: made once, renewed in time, never shown.

The root signs servers, brokers and administrators. Each site's devices have an authority of their
own, which is not below the root: who trusts the root lets no device in, and the other way round.
So have the parts of the object store, which let in each other alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from millrace.base.errors import MillraceError
from millrace.kafka.core.broker_settings import admin_name
from millrace.secrets.core import certificates
from millrace.secrets.core.certificates import Authority, Role
from millrace.settings.core.paths import Paths
from millrace.sites.core.spec import SiteSpec
from millrace.storage.io.files import make_private, read_text, write_atomic, write_new


class BrokenPkiError(MillraceError):
    """An authority cannot be used, and making a new one would lock out who trusts the old."""

    def __init__(self, file: Path, problem: str, made_with_it: Sequence[Path]) -> None:
        folders = " and ".join(map(str, made_with_it))
        super().__init__(
            f"{file}: {problem}; put back the file from a backup, or delete {folders}"
            " and start again to make new ones"
        )
        self.file = file


def ensure_certificate(
    layout: Paths,
    file: Path,
    common_name: str,
    role: Role,
    hosts: Sequence[str] = (),
    authority: Authority | None = None,
) -> Path:
    """One PEM file with key, certificate and authority. `authority` None: the root."""
    make_private(layout.pki, file.parent)
    signer, now = authority or ensure_authority(layout), datetime.now(UTC)
    if not _is_good_bundle(file, signer, common_name, now, role, hosts):
        key = certificates.new_key()
        leaf = certificates.make_leaf(signer, key, common_name, now, role, hosts)
        write_atomic(file, certificates.key_pem(key) + _chain(leaf, signer))
    return file


def ensure_administrator(layout: Paths, site: SiteSpec) -> None:
    """Of a site whose broker is elsewhere: made where there is none, renewed where we signed it.

    What somebody else has signed and put there is left alone; so is ours, where the root is not.
    """
    file = layout.certificate(site.name, "admin")
    if not file.exists() or (layout.ca_key.exists() and _is_signed_here(layout, file)):
        ensure_certificate(layout, file, admin_name(site), Role.CLIENT)


def _is_signed_here(layout: Paths, file: Path) -> bool:
    """By the root, or by the one whose place it is taking."""
    try:
        leaf = certificates.read_certificate(file.read_text())
        trusted = certificates.read_certificates(layout.ca.read_text())
    except ValueError:
        return False
    return any(certificates.is_issued_by(leaf, one) for one in trusted)


def ensure_server_certificate(layout: Paths, name: str, hosts: Sequence[str]) -> tuple[Path, Path]:
    """Chain and key of an HTTPS server, two files, as web servers want them."""
    folder = layout.pki / name
    files = folder / "cert.pem", folder / "key.pem"
    return _ensure_two_files(layout, files, name, Role.SERVER, hosts, ensure_authority(layout))


def ensure_parts_certificate(layout: Paths, name: str, hosts: Sequence[str]) -> tuple[Path, Path]:
    """Chain and key by which the parts of the object store know each other."""
    folder = layout.parts_ca.parent
    files = folder / "parts.pem", folder / "parts-key.pem"
    return _ensure_two_files(layout, files, name, Role.PEER, hosts, ensure_parts_authority(layout))


def _ensure_two_files(
    layout: Paths,
    files: tuple[Path, Path],
    name: str,
    role: Role,
    hosts: Sequence[str],
    authority: Authority,
) -> tuple[Path, Path]:
    (chain, key_file), now = files, datetime.now(UTC)
    folder = chain.parent
    make_private(layout.pki, folder)
    key = _ensure_key(key_file, [folder])
    if not _is_good_chain(chain, key, authority, name, now, role, hosts):
        leaf = certificates.make_leaf(authority, key, name, now, role, hosts)
        write_atomic(chain, _chain(leaf, authority))
    return chain, key_file


def ensure_authority(layout: Paths) -> Authority:
    """The root."""
    _move_in(layout.pki / layout.ca_key.name, layout.ca_key)
    both = (layout.pki, layout.ca_key.parent)
    return _ensure_authority(layout, layout.ca_key, layout.ca, certificates.CA_NAME, both)


def ensure_device_authority(layout: Paths, site: str) -> Authority:
    """Of a site's devices, and of nothing else."""
    key_file, file = layout.devices_key(site), layout.devices_ca(site)
    both = (key_file, file, layout.devices(site))
    return _ensure_authority(layout, key_file, file, f"devices of {site}", both)


def ensure_parts_authority(layout: Paths) -> Authority:
    """Of the object store's parts, and of nothing else."""
    both = (layout.parts_key, layout.parts_ca.parent)
    name = "parts of the object store"
    return _ensure_authority(layout, layout.parts_key, layout.parts_ca, name, both)


def _ensure_authority(
    layout: Paths, key_file: Path, file: Path, name: str, made_with_it: Sequence[Path]
) -> Authority:
    """Its key is written first, so a crash between the two files does no harm."""
    make_private(layout.pki, layout.ca_key.parent, key_file.parent, file.parent)
    if file.exists() and not key_file.exists():
        raise BrokenPkiError(key_file, "the key of the authority is missing", made_with_it)
    key = _ensure_key(key_file, made_with_it)
    if not file.exists():
        made = certificates.make_authority(key, datetime.now(UTC), name)
        write_new(file, certificates.certificate_pem(made))
    try:
        trusted = certificates.read_certificates(file.read_text())
    except ValueError as error:
        raise BrokenPkiError(file, "this is no certificate", made_with_it) from error
    # While a new one takes the place of an old one, both are trusted; the key says which signs.
    for certificate in trusted:
        if certificates.belong_together(certificate, key):
            return Authority(key, certificate)
    raise BrokenPkiError(file, f"it does not fit its key {key_file.name}", made_with_it)


def _move_in(old: Path, new: Path) -> None:
    """Where it lay before it had a folder of its own."""
    if old.exists() and not new.exists():
        make_private(new.parent)
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
    authority: Authority,
    owner: str,
    now: datetime,
    role: Role,
    hosts: Sequence[str],
) -> bool:
    """A leaf is cheap: whatever is wrong with one, it is made anew."""
    try:
        key = certificates.read_key(read_text(file) or "")
    except ValueError:
        return False
    return _is_good_chain(file, key, authority, owner, now, role, hosts)


def _is_good_chain(
    file: Path,
    key: ec.EllipticCurvePrivateKey,
    authority: Authority,
    owner: str,
    now: datetime,
    role: Role,
    hosts: Sequence[str],
) -> bool:
    text = read_text(file) or ""
    try:
        leaf = certificates.read_certificate(text)
    except ValueError:
        return False
    whole = text.endswith(certificates.certificate_pem(authority.certificate))
    return whole and certificates.is_good_leaf(leaf, key, authority, owner, now, role, hosts)


def _chain(leaf: x509.Certificate, authority: Authority) -> str:
    return certificates.certificate_pem(leaf) + certificates.certificate_pem(authority.certificate)
