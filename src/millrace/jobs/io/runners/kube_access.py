"""The way to a cluster: where its API is, whom it trusts, and as whom we come."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from millrace.base.errors import RunnerRefusedError
from millrace.settings.core.remotes import KubernetesSettings


@dataclass(frozen=True)
class KubeAccess:
    server: str
    ca_file: Path | None = None
    ca_text: str | None = None
    token_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None

    def trust(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_text)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            raise _unfit(f"certificates of {self.server}: {error}") from error
        return context

    def sign(self, request: httpx.Request) -> httpx.Request:
        """Read anew each time: Kubernetes replaces the token every hour."""
        try:
            token = self.token_file.read_text().strip() if self.token_file else self.token
        except OSError as error:
            raise _unfit(f"token_file={str(self.token_file)!r}: {error.strerror}") from error
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return request


def access_of(settings: KubernetesSettings) -> KubeAccess:
    if settings.kubeconfig:
        return read_kubeconfig(settings.kubeconfig)
    return KubeAccess(settings.api_server, ca_file=settings.ca_file, token_file=settings.token_file)


def read_kubeconfig(file: Path) -> KubeAccess:
    """The current context's cluster and user."""
    try:
        config = yaml.safe_load(file.read_text())
        context = _named(config, "context", config["current-context"])
        cluster = _named(config, "cluster", context["cluster"])
        return _access(cluster, _named(config, "user", context["user"]), file.parent)
    except OSError as error:
        raise _unfit(f"kubeconfig={str(file)!r}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise _unfit(f"kubeconfig={str(file)!r} is not one: {error!r}") from error


def _named(config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    found = {one["name"]: one[kind] for one in config[f"{kind}s"]}
    chosen: dict[str, Any] = found[name]
    return chosen


def _access(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> KubeAccess:
    unknown = {"exec", "auth-provider", "client-certificate-data", "username"} & set(user)
    if unknown:
        raise _unfit(f"kubeconfig: no way to use the user's {', '.join(sorted(unknown))}")
    ca = cluster.get("certificate-authority-data")
    return KubeAccess(
        server=cluster["server"],
        ca_file=_path(folder, cluster, "certificate-authority"),
        ca_text=base64.b64decode(ca).decode() if ca else None,
        token_file=_path(folder, user, "tokenFile"),
        token=user.get("token"),
        certificate=_path(folder, user, "client-certificate"),
        key=_path(folder, user, "client-key"),
    )


def _path(folder: Path, values: dict[str, Any], key: str) -> Path | None:
    return folder / values[key] if key in values else None


def _unfit(problem: str) -> RunnerRefusedError:
    return RunnerRefusedError(
        f"runner kubernetes: {problem}; name api_server, token_file and ca_file, or a kubeconfig"
        " whose user has a token, a tokenFile or a client-certificate, in infra/local.yaml"
    )
