"""Certificates as values: made, signed, checked and written as PEM; no file is touched here."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_NAME = "Millrace local CA"
_CA_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=825)
_RENEW_BEFORE = timedelta(days=60)
# A clock that is a little behind must not refuse what was made just now.
_CLOCK_SLACK = timedelta(hours=1)


@dataclass(frozen=True)
class Authority:
    """The CA: what signs, and what clients trust."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def make_authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """The CA's own certificate; made again from the same key it trusts the same leaves."""
    name = _name(CA_NAME)
    builder = _builder(name, name, key, now, _CA_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(authority=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def make_leaf(
    authority: Authority,
    key: ec.EllipticCurvePrivateKey,
    common_name: str,
    now: datetime,
    hosts: Sequence[str] = (),
) -> x509.Certificate:
    """For one machine's programs, as servers and as clients; `hosts`: by what others reach it."""
    issuer = authority.certificate.subject
    builder = _builder(_name(common_name), issuer, key, now, _LEAF_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
    builder = builder.add_extension(_key_usage(authority=False), critical=True)
    builder = builder.add_extension(_names(hosts), critical=False)
    builder = builder.add_extension(_SERVER_AND_CLIENT, critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return builder.add_extension(signer, critical=False).sign(authority.key, hashes.SHA256())


def is_good_leaf(
    leaf: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    authority: Authority,
    common_name: str,
    now: datetime,
    hosts: Sequence[str] = (),
) -> bool:
    """Whether it is ours, names its owner and hosts, fits its key and has time left."""
    try:
        leaf.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    fresh = now + _RENEW_BEFORE < leaf.not_valid_after_utc
    named = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_its = leaf.subject == _name(common_name) and named == _names(hosts)
    return fresh and is_its and belong_together(leaf, key)


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
    return x509.load_pem_x509_certificates(pem.encode())[0]


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
    addresses = [ipaddress.ip_address(text) for text in ("127.0.0.1", "::1")]
    local = [x509.DNSName("localhost"), *(x509.IPAddress(address) for address in addresses)]
    return x509.SubjectAlternativeName([*local, *(_general_name(host) for host in hosts)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


_SERVER_AND_CLIENT = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)
