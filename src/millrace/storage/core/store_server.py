"""What the local object store is told: its command line and its files as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

# The name in its certificate, by which its own parts know each other.
NAME = "object-store"
_PARTS = ("s3", "master", "volume", "filer")
PORTS_NEEDED = 2 * len(_PARTS)
# JSON Web Tokens between its parts.
TOKENS = ("jwt.signing", "jwt.signing.read", "jwt.filer_signing", "jwt.filer_signing.read")


def server_options(
    folder: Path, port: int, certificate: Path, key: Path, listen: str
) -> tuple[str, ...]:
    """`weed server`: what `weed mini` starts, without WebDAV, catalogues and an admin's site.

    Only S3 is for others; its own parts talk on loopback.
    """
    ports = {}
    for number, part in enumerate(_PARTS):
        ports[f"{part}.port"] = port + 2 * number
        ports[f"{part}.port.grpc"] = port + 2 * number + 1
    settings: dict[str, object] = {
        "dir": folder / "data",
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        **ports,
        "s3": "true",
        "s3.ip.bind": listen,
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.config": folder / "identities.json",
        "s3.cert.file": certificate,
        "s3.key.file": key,
        "s3.localSocket": folder / "s3.sock",
        "filer.localSocket": folder / "filer.sock",
        "master.peers": "none",
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 1024,
        "volume.max": 0,  # as many as fit on the disk
        "volume.preStopSeconds": 1,
    }
    return tuple(f"-{name}={value}" for name, value in settings.items())


def sockets_outside(port: int) -> tuple[Path, ...]:
    """On which its parts' gRPC listens too: `weed server` takes no other folder for these, and
    removes its own only where it is asked to end and a part has the time.
    """
    return tuple(
        Path(f"/tmp/seaweedfs-{part}-grpc-{port + 2 * number + 1}.sock")  # noqa: S108 - its choice
        for number, part in enumerate(_PARTS)
    )


def security(ca: Path, certificate: Path, key: Path, tokens: Mapping[str, str]) -> str:
    """`security.toml`: all but S3 ask for a certificate of the authority that its parts have."""
    own = {"cert": certificate, "key": key}
    sections: dict[str, Mapping[str, object]] = {
        **{name: {"key": token} for name, token in tokens.items()},
        "grpc": {"ca": ca},
        **{f"grpc.{part}": {**own, "allowed_commonNames": NAME} for part in _PARTS},
        "grpc.client": own,
        "https.client": {"enabled": True, **own, "ca": ca},
        **{f"https.{part}": {**own, "ca": ca} for part in _PARTS if part != "s3"},
        "filer.expose_directory_metadata": {"enabled": False},
    }
    return "\n".join(_section(name, values) for name, values in sections.items())


def identities(user: str, access_key: str, secret_key: str) -> str:
    """Who may use the S3 listener; anonymous requests have no rights."""
    login = {"accessKey": access_key, "secretKey": secret_key}
    actions = ["Admin", "Read", "List", "Tagging", "Write"]
    return json.dumps({"identities": [{"name": user, "credentials": [login], "actions": actions}]})


def _section(name: str, values: Mapping[str, object]) -> str:
    # JSON's strings and booleans are TOML's.
    lines = (f"{key} = {json.dumps(value, default=str)}" for key, value in values.items())
    return "\n".join((f"[{name}]", *lines, ""))
