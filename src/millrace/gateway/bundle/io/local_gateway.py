"""A site's gateway on this machine: its file, its keys, its process; and who is a device to it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import yaml

from millrace.base.addresses import LOCAL_NAMES
from millrace.gateway.bundle.core.bundle_contents import CERTIFICATE, DEVICES, REVOKED, bundle_files
from millrace.gateway.spec.core.local_file import GATEWAY_FILE, SERVER, TOKEN, gateway_program
from millrace.processes.core.program import Program
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.device_certificates import revoked_text
from millrace.secrets.io.passwords import ensure_user
from millrace.secrets.io.pki import ensure_certificate, ensure_device_authority
from millrace.settings.core.paths import Paths
from millrace.sites.core.simulation import SIMULATOR_CA, SIMULATOR_KEY, simulator_name
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import GATEWAY
from millrace.storage.io.files import make_private, write_atomic, write_new


def prepare_gateway(layout: Paths, site: SiteSpec, values: dict[str, Any]) -> Program:
    """`values`: its file, but for certificates and tokens, which this machine has."""
    folder = layout.gateway(site.name)
    make_private(folder.parent, folder)
    gateway_certificate(layout, site)
    hand_over(layout, site)
    write_atomic(folder / GATEWAY_FILE, yaml.safe_dump(_sealed(values)))
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


def prepare_simulator(layout: Paths, site: SiteSpec) -> None:
    """It is a device of its site, with a key of its own."""
    folder = layout.simulator(site.name)
    make_private(folder.parent, folder)
    authority = ensure_device_authority(layout, site.name)
    name = simulator_name(site.name)
    ensure_certificate(layout, folder / SIMULATOR_KEY, name, Role.CLIENT, authority=authority)
    write_atomic(folder / SIMULATOR_CA, layout.ca.read_text())


def gateway_certificate(layout: Paths, site: SiteSpec) -> Path:
    """For devices, and for whoever looks at its page on the gateway's own machine."""
    hosts = [*LOCAL_NAMES, *([site.gateway_host] if site.gateway_host else [])]
    hosts += [layout.host(gateway_program(site.name))] if layout.apart else []
    file = layout.certificate(site.name, SERVER)
    return ensure_certificate(layout, file, f"{site.name}-gateway", Role.SERVER, hosts)


def hand_over(layout: Paths, site: SiteSpec) -> None:
    """To this machine's gateway of the site, where there is one: all that the bundle of another
    holds. What changed is taken up without a restart."""
    folder = layout.gateway(site.name)
    if folder.exists():
        for name, text in bundle_texts(layout, site).items():
            write_atomic(folder / name, text)
        own = layout.certificate(site.name, SERVER)
        if own.exists():
            write_atomic(folder / CERTIFICATE, own.read_text())


def bundle_texts(layout: Paths, site: SiteSpec) -> dict[str, str]:
    password = ensure_user(layout, site.name, GATEWAY).password
    ensure_device_authority(layout, site.name)
    return {
        **bundle_files(site, layout.ca.read_text(), password),
        DEVICES: layout.devices_ca(site.name).read_text(),
        REVOKED: revoked_text(layout, site.name),
    }


def _sealed(values: dict[str, Any]) -> dict[str, Any]:
    tls = {"certificate": CERTIFICATE, "clients": DEVICES, "revoked": REVOKED}
    sealed = {**values, "inputs": [{**one, "tls": tls} for one in values["inputs"]]}
    if "status" in values:
        sealed["status"] = {**values["status"], "certificate": CERTIFICATE, "token": TOKEN}
    return sealed
