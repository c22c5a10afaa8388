"""Certificates as values: made, signed, checked and written as PEM; no file is touched here."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Extension = TypeVar("Extension", bound=x509.ExtensionType)
CA_NAME = "Millrace local CA"
_CA_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=825)
_RENEW_BEFORE = timedelta(days=60)
# A clock that is a little behind must not refuse what was made just now.
_CLOCK_SLACK = timedelta(hours=1)


class Role(Enum):
    """What a key is for; whoever checks a certificate refuses it in any other role."""

    SERVER = (ExtendedKeyUsageOID.SERVER_AUTH,)
    CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)
    # A server that others of its kind connect to, such as a broker.
    PEER = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)

    @property
    def usage(self) -> x509.ExtendedKeyUsage:
        return x509.ExtendedKeyUsage(self.value)


@dataclass(frozen=True)
class Authority:
    """What signs, and what those trust who check."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def make_authority(
    key: ec.EllipticCurvePrivateKey, now: datetime, common_name: str = CA_NAME
) -> x509.Certificate:
    """Its own certificate; made again from the same key it trusts the same leaves."""
    name = _name(common_name)
    builder = _builder(name, name, key, now, _CA_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(authority=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def make_leaf(
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    common_name: str,
    now: datetime,
    role: Role,
    hosts: Sequence[str] = (),
) -> x509.Certificate:
    """`hosts`: by what clients reach a server; a client has none."""
    issuer = authority.certificate.subject
    builder = _builder(_name(common_name), issuer, key, now, _LEAF_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
    builder = builder.add_extension(_key_usage(authority=False), critical=True)
    if hosts:
        builder = builder.add_extension(_names(hosts), critical=False)
    builder = builder.add_extension(role.usage, critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return builder.add_extension(signer, critical=False).sign(authority.key, hashes.SHA256())


def is_good_leaf(
    leaf: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    authority: Authority,
    common_name: str,
    now: datetime,
    role: Role,
    hosts: Sequence[str] = (),
) -> bool:
    """Whether it is ours, names its owner, role and hosts, fits its key and has time left."""
    if not is_issued_by(leaf, authority.certificate):
        return False
    fresh = end_to_renew(leaf, now) is None
    named = _extension(leaf, x509.SubjectAlternativeName) == (_names(hosts) if hosts else None)
    is_its = leaf.subject == _name(common_name) and named
    has_role = _extension(leaf, x509.ExtendedKeyUsage) == role.usage
    return fresh and is_its and has_role and belong_together(leaf, key)


def end_to_renew(leaf: x509.Certificate, now: datetime) -> datetime | None:
    """When it ends, where that is so near that it has to be renewed."""
    end = leaf.not_valid_after_utc
    return end if end <= now + _RENEW_BEFORE else None


def is_authority(certificate: x509.Certificate) -> bool:
    constraints = _extension(certificate, x509.BasicConstraints)
    return bool(constraints and constraints.ca)


def is_issued_by(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _extension(leaf: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return leaf.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def fingerprint(certificate: x509.Certificate) -> str:
    """As the list of revoked certificates names it, and `openssl x509 -fingerprint -sha256`."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def belong_together(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    return certificate.public_key() == key.public_key()


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """PKCS8, the one form that Java, librdkafka and Python all read."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def certificate_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def read_key(pem: str) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("it holds a key of another kind")  # noqa: TRY004 - one error for bad files
    return key


def read_certificate(pem: str) -> x509.Certificate:
    """The first certificate of a PEM text; a leaf stands before its CA."""
    return read_certificates(pem)[0]


def read_certificates(pem: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem.encode())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_general_name(host) for host in hosts])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
