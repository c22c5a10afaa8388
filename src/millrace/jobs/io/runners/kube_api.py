"""The few calls of Kubernetes' API that are needed, and what its refusals mean."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx

from millrace.base.errors import MillraceError
from millrace.jobs.core.spark_application import error_of
from millrace.jobs.io.runners.kube_access import KubeAccess, access_of
from millrace.settings.core.remotes import KubernetesSettings

_TIMEOUT_S = 20.0
_ABSENT, _CONFLICT = 404, 409


class KubeApi:
    def __init__(self, access: KubeAccess, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._http = httpx.Client(
            base_url=access.server,
            verify=access.trust(),
            auth=access.sign,
            timeout=_TIMEOUT_S,
            # Proxies are for the way out of a network, and this is inside.
            trust_env=False,
        )

    def get(self, path: str) -> dict[str, Any] | None:
        answer = self._ask("GET", path, but=_ABSENT)
        return None if answer.status_code == _ABSENT else answer.json()

    def list(self, path: str, selector: str) -> list[dict[str, Any]]:
        answer = self._ask("GET", path, params={"labelSelector": selector})
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def text(self, path: str, **params: str) -> str:
        """Empty where there is nothing (yet)."""
        answer = self._ask("GET", path, params=params, but=_ABSENT)
        return "" if answer.status_code == _ABSENT else answer.text

    def create(self, path: str, wanted: dict[str, Any]) -> None:
        """One of that name that is there already stays as it is."""
        # A key that the cluster does not know is an error, never ignored.
        params = {"fieldValidation": "Strict"}
        self._ask("POST", path, params=params, body=wanted, but=_CONFLICT)

    def delete(self, path: str, **options: object) -> None:
        self._ask("DELETE", path, body=options, but=_ABSENT)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
        but: int | None = None,
    ) -> httpx.Response:
        """An answer, or that refusal which the caller expects."""
        try:
            answer = self._http.request(method, path, params=params, json=body)
        except httpx.HTTPError as error:
            raise self._named(0, f"{type(error).__name__}: {error}") from error
        if answer.is_success or answer.status_code == but:
            return answer
        raise self._named(answer.status_code, f"{method} {path}: {_said(answer)}")

    def _named(self, status: int, text: str) -> MillraceError:
        return error_of(status, text, self._settings)


@cache
def open_api(settings: KubernetesSettings) -> KubeApi:
    """Made once: supervision makes a runner for every look. Threads may share it."""
    return KubeApi(access_of(settings), settings)


def _said(answer: httpx.Response) -> str:
    try:
        return f"{answer.status_code} {answer.json()['message']}"
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.text[:200]}"
