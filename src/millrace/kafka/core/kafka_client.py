"""How a client reaches a site, said in each client's own words. TLS and SCRAM, always."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from millrace.sites.core.central import Central
from millrace.sites.core.spec import ClientSettings, SiteSpec

_MECHANISM = "SCRAM-SHA-512"


def librdkafka_settings(site: SiteSpec, ca: Path, username: str, password: str) -> ClientSettings:
    """For confluent-kafka and kcat."""
    return {
        "bootstrap.servers": site.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": _MECHANISM,
        "sasl.username": username,
        "sasl.password": password,
        "ssl.ca.location": str(ca),
        **_extra(site, "librdkafka"),
    }


def admin_settings(site: SiteSpec, ca: Path, certificate: Path) -> ClientSettings:
    """For administrators, who prove themselves by certificate at a listener of their own."""
    servers = (server.strip().rpartition(":") for server in site.bootstrap.split(","))
    return {
        "bootstrap.servers": ",".join(f"{host}:{int(port) + 1}" for host, _, port in servers),
        "security.protocol": "SSL",
        "ssl.ca.location": str(ca),
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(certificate),
    }


def java_settings(site: SiteSpec, ca: Path, secret: Path) -> dict[str, str]:
    """For Java clients; the JAAS line is read from `secret` by the client, so it is never shown."""
    return _java_settings(
        site,
        ca,
        {
            "sasl.jaas.config": f"${{file:{secret}:jaas}}",
            "config.providers": "file",
            "config.providers.file.class": (
                "org.apache.kafka.common.config.provider.FileConfigProvider"
            ),
        },
    )


def central_java_settings(central: Central) -> dict[str, str]:
    """For Java clients of the central cluster; each asks for the login itself, when it begins."""
    # Kafka splits at colons.
    path = central.secret.replace(":", "|")
    return {
        "bootstrap.servers": central.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": _MECHANISM,
        "sasl.jaas.config": f"${{aws:{path}:jaas}}",
        "config.providers": "aws",
        # See jvm/src/millrace/secrets.
        "config.providers.aws.class": "millrace.secrets.SecretsManager",
    }


def central_librdkafka_settings(central: Central) -> ClientSettings:
    """Without user and password."""
    return {
        "bootstrap.servers": central.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": _MECHANISM,
        # Wherever the system keeps public authorities.
        "ssl.ca.location": "probe",
    }


def inline_java_settings(site: SiteSpec, ca: Path, username: str, password: str) -> dict[str, str]:
    """For Java clients elsewhere: complete in itself, password included."""
    return _java_settings(site, ca, {"sasl.jaas.config": jaas_line(username, password)})


def _java_settings(site: SiteSpec, ca: Path, login: dict[str, str]) -> dict[str, str]:
    return {
        "bootstrap.servers": site.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": _MECHANISM,
        **login,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
        **{key: _java_text(value) for key, value in _extra(site, "java").items()},
    }


def jaas_line(username: str, password: str) -> str:
    return (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{username}" password="{password}";'
    )


def as_properties(settings: Mapping[str, object]) -> str:
    """`key=value` lines, as kcat -F and Java's --command-config read them."""
    return "\n".join(f"{key}={_java_text(value)}" for key, value in settings.items())


def _extra(site: SiteSpec, client: Literal["librdkafka", "java"]) -> ClientSettings:
    """The site's own settings: those for every client, and those for this one."""
    other = "java." if client == "librdkafka" else "librdkafka."
    return {
        key.removeprefix(f"{client}."): value
        for key, value in site.client.items()
        if not key.startswith(other)
    }


def _java_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
