"""What a site's gateway is handed: enough to send to the site's topics, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millrace.kafka.core.kafka_client import as_properties, librdkafka_settings
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import GATEWAY

CERTIFICATE, FIRST_FILE = "gateway.pem", "gateway.yaml"
# Who signs the site's devices, and which of them are let in no more.
DEVICES, REVOKED = "devices.pem", "revoked.txt"
CA, SETTINGS, PASSWORD, README = "ca.pem", "client.properties", "password.properties", "README.txt"


def bundle_name(site: str) -> str:
    """Of the folder in it, and of the file without its ending."""
    return f"{site}-{GATEWAY}"


def bundle_files(site: SiteSpec, ca: str, password: str) -> dict[str, str]:
    """The password stands in one file alone; the others may be shown."""
    settings = librdkafka_settings(site, Path(CA), GATEWAY, password)
    login = {"sasl.password": settings.pop("sasl.password")}
    return {
        CA: ca,
        SETTINGS: as_properties(settings) + "\n",
        PASSWORD: as_properties(login) + "\n",
        README: _readme(site),
    }


def first_gateway(site: str, topics: Sequence[str]) -> dict[str, Any]:
    """A file to begin with: lines from devices with certificates, and HTTPS with tokens."""
    names = sorted(topics) or ["measurements"]
    topic = names[0] if len(names) == 1 else {"field": "$.topic", "among": names}
    tls = {"certificate": CERTIFICATE}
    devices = {**tls, "clients": DEVICES, "revoked": REVOKED}
    lines = {"kind": "tcp", "acknowledge": True, "tls": devices}
    web = {"kind": "http", "tls": tls, "tokens": "tokens.txt"}
    return {
        "site": site,
        "data": "/var/lib/millrace",
        "inputs": [
            {"name": "lines", "listen": "0.0.0.0:7001", "topic": topic, **lines},
            {"name": "web", "listen": "0.0.0.0:7002", "topic": topic, **web},
        ],
        "status": {
            "listen": "127.0.0.1:7003",
            "certificate": CERTIFICATE,
            "token": "status-token.txt",
        },
    }


def _readme(site: SiteSpec) -> str:
    name = bundle_name(site.name)
    return f"""\
The gateway of site {site.name}, for a Debian 12 machine with python3-venv:

    tar xzf {name}.tar.gz
    cd {name}
    sudo ./install.sh                  (--help: upgrade, remove; what it does and what stays)

It takes lines by TLS at port 7001 and HTTPS at 7002, and shows how it does at 127.0.0.1:7003.
Change that in /etc/millrace/gateway.yaml, then: systemctl restart millrace-gateway. Devices prove
themselves by a certificate that devices.pem has signed and revoked.txt does not list, such as
device.pem, and begin with its name: HELLO {site.name}-device. By HTTPS: the token in
/etc/millrace/tokens.txt.

It connects to {site.bootstrap} as user {GATEWAY}, who may send to the site's topics, read
them, and nothing else. {PASSWORD}, gateway.pem and device.pem are secrets: keep their
rights (0600). A new password makes a new bundle: install it over this one.

To look at the broker: kcat -F {SETTINGS} -F {PASSWORD} -L
"""
