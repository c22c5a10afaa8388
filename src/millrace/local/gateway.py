"""A site's gateway on this machine: its file, its certificate, its process."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yaml

from millrace.core.gateway.local import DEVICE, GATEWAY_FILE, SERVER, TOKEN, gateway_program
from millrace.core.gateway_bundle import PASSWORD, bundle_files
from millrace.core.layout import Layout
from millrace.core.provision import GATEWAY
from millrace.core.site import SiteSpec
from millrace.local.pki import ensure_certificate
from millrace.local.program import Program
from millrace.local.secrets import ensure_user
from millrace.state.files import make_private, write_atomic, write_new


def prepare_gateway(layout: Layout, site: SiteSpec, values: dict[str, Any]) -> Program:
    """`values`: its file, but for certificates and tokens, which this machine has."""
    folder = layout.gateway(site.name)
    make_private(folder.parent, folder)
    certificate, _ = gateway_certificates(layout, site)
    for name, text in _bundle(layout, site).items():
        write_atomic(folder / name, text)
    write_atomic(folder / GATEWAY_FILE, yaml.safe_dump(_sealed(values, certificate, layout.ca)))
    write_new(folder / TOKEN, secrets.token_urlsafe(24) + "\n")
    name = gateway_program(site.name)
    return Program(
        name=name,
        command=(str(layout.control_bin / "millrace"), "gateway", "run", GATEWAY_FILE),
        directory=folder,
        log=layout.logs / f"{name}.log",
        priority=25,
        port=site.local.gateway.port if site.local and site.local.gateway else None,
    )


def gateway_certificates(layout: Layout, site: SiteSpec) -> tuple[Path, Path]:
    """The gateway's own, and that of a first device."""
    hosts = [site.gateway_host] if site.gateway_host else []
    hosts += [layout.host(gateway_program(site.name))] if layout.apart else []
    own = ensure_certificate(layout, site.name, SERVER, f"{site.name}-gateway", hosts)
    return own, ensure_certificate(layout, site.name, DEVICE, f"{site.name}-device")


def hand_password(layout: Layout, site: SiteSpec) -> None:
    """To this machine's gateway of the site, where there is one; it reads it when it is refused."""
    folder = layout.gateway(site.name)
    if folder.exists():
        write_atomic(folder / PASSWORD, _bundle(layout, site)[PASSWORD])


def _bundle(layout: Layout, site: SiteSpec) -> dict[str, str]:
    password = ensure_user(layout, site.name, GATEWAY).password
    return bundle_files(site, layout.ca.read_text(), password)


def _sealed(values: dict[str, Any], certificate: Path, ca: Path) -> dict[str, Any]:
    tls = {"certificate": str(certificate), "clients": str(ca)}
    sealed = {**values, "inputs": [{**one, "tls": tls} for one in values["inputs"]]}
    if "status" in values:
        sealed["status"] = {**values["status"], "certificate": str(certificate), "token": TOKEN}
    return sealed
