"""What a site's gateway is handed: enough to send to the site's topics, and for nothing else."""

from __future__ import annotations

from pathlib import Path

from millrace.core.kafka_client import as_properties, librdkafka_settings
from millrace.core.provision import GATEWAY
from millrace.core.site import SiteSpec

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


def _readme(site: SiteSpec) -> str:
    name = bundle_name(site.name)
    return f"""\
The gateway of site {site.name} connects to {site.bootstrap} with these, as user {GATEWAY}, who may
send to the site's topics and nothing else. {PASSWORD} is a secret: keep its rights (0600).

To use it, beside the gateway:

    tar xzf {name}.tar.gz
    cd {name}
    kcat -F {SETTINGS} -F {PASSWORD} -L

Both files are settings of librdkafka, a key and a value a line; {CA} is found from this folder.
A new password makes a new bundle: unpack it over this one and restart the gateway.
"""
