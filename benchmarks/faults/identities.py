"""Certificates that expire or break and passwords that change, under a running gateway."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.machine import clients_of, hang_up, rule
from benchmarks.faults.stands.stand import Stand
from millrace.gateway.bundle.core.bundle_contents import bundle_files
from millrace.provisioning.core.site_users import SetPassword
from millrace.provisioning.io.admin import Admin
from millrace.secrets.core import certificates
from millrace.secrets.io.pki import ensure_authority
from millrace.sites.core.user_names import GATEWAY
from millrace.storage.io.files import write_atomic

_LEAF_LIFE = timedelta(days=825)


def _cut(stand: Stand, port: int) -> None:
    """Whoever is connected has to connect anew."""
    before = set(clients_of(port))
    with rule(hang_up(port)):
        stand.pass_s(0.5)
    if not before or before & set(clients_of(port)):
        raise AssertionError(f"not everybody was cut off from port {port}")


def _certificate(stand: Stand) -> Path:
    return Path(stand.gateway.inputs[0]["tls"]["certificate"])


def _expiring(stand: Stand, within: timedelta) -> str:
    authority, key = ensure_authority(stand.site.layout), certificates.new_key()
    made_at = datetime.now(UTC) - _LEAF_LIFE + within
    leaf = certificates.make_leaf(authority, key, "gateway", made_at, certificates.Role.SERVER)
    return certificates.key_pem(key) + certificates.certificate_pem(leaf)


@fault("certificate-expired", "the gateway's certificate renewed by one that is valid for 3 s, and"
       " all devices cut off; 10 s later the good one again")  # fmt: skip
def certificate_expired(stand: Stand) -> None:
    file = _certificate(stand)
    good = file.read_text()
    write_atomic(file, _expiring(stand, timedelta(seconds=3)))
    stand.pass_s(4)
    _cut(stand, stand.gateway.port)
    stand.pass_s(10)
    write_atomic(file, good)


@fault("certificate-broken", "the gateway's certificate overwritten by half of itself for 5 s, and"
       " all devices cut off meanwhile")  # fmt: skip
def certificate_broken(stand: Stand) -> None:
    file = _certificate(stand)
    good = file.read_text()
    file.write_text(good[: len(good) // 2])
    stand.pass_s(2)
    _cut(stand, stand.gateway.port)
    stand.pass_s(3)
    write_atomic(file, good)


@fault("password-rotated", "another password for the gateway's user at the broker, and the link"
       " reset; the new one handed to the gateway 10 s later")  # fmt: skip
def password_rotated(stand: Stand) -> None:
    site, password = stand.site, secrets.token_urlsafe(24)
    admin = Admin(site.spec, site.admin, lambda _: password)
    admin.apply(SetPassword(user=GATEWAY))
    stand.stack.callback(lambda: _restore(stand))
    _cut(stand, stand.broker_port)
    stand.pass_s(10)
    files = bundle_files(site.spec, site.layout.ca.read_text(), password)
    write_atomic(stand.gateway.folder / "password.properties", files["password.properties"])


def _restore(stand: Stand) -> None:
    site = stand.site
    Admin(site.spec, site.admin, site.password_of).apply(SetPassword(user=GATEWAY))
