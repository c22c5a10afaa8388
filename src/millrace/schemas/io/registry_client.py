"""A schema registry, as Confluent's protocol speaks to it."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from millrace.schemas.core.registry import (
    COMPATIBILITY,
    IncompatibleError,
    Registry,
    RegistryRefusedError,
    RegistryUnreachableError,
    check_given,
    check_ids,
    check_known,
    filler,
    normal,
    subject_of,
)
from millrace.schemas.io.schema_files import SchemaFile

_TIMEOUT_S = 10.0
_NOT_FOUND, _CONFLICT, _BROKEN = 404, 409, 500
_NO_LOGIN, _NO_RIGHT = 401, 403


class RegistryClient:
    """One user of a registry."""

    def __init__(self, registry: Registry, ca: Path, user: str, password: str) -> None:
        self._user = user
        self._url = registry.url
        self._client = httpx.Client(
            base_url=f"{registry.url}/apis/ccompat/v7",
            auth=(user, password),
            verify=ssl.create_default_context(cafile=str(ca)),
            timeout=_TIMEOUT_S,
            trust_env=False,
        )

    def is_open(self) -> bool:
        try:
            self.subjects()
        except RegistryUnreachableError:
            return False
        return True

    def subjects(self) -> list[str]:
        return list(self._ask("GET", "/subjects").json())

    def schemas_of(self, subject: str) -> dict[int, str]:
        """Every version's schema, by the id that messages name."""
        at = f"/subjects/{quote(subject, safe='')}/versions"
        versions = [self._ask("GET", f"{at}/{one}").json() for one in self._ask("GET", at).json()]
        return {int(one["id"]): str(one["schema"]) for one in versions}

    def find(self, number: int) -> str | None:
        """The schema with this id."""
        answer = self._ask("GET", f"/schemas/ids/{number}", _NOT_FOUND)
        return None if answer.status_code == _NOT_FOUND else str(answer.json()["schema"])

    def ensure_rule(self) -> None:
        self._ask("PUT", "/config", body={"compatibility": COMPATIBILITY})

    def register(self, subject: str, schema: str) -> int:
        """Its id; the same again when it is there already."""
        at = f"/subjects/{quote(subject, safe='')}/versions"
        answer = self._ask("POST", at, _CONFLICT, body={"schema": normal(schema)})
        if answer.status_code == _CONFLICT:
            raise IncompatibleError(_refusal(subject, answer))
        return int(answer.json()["id"])

    def check(self, subject: str, schema: str) -> bool:
        """Whether it reads what every older schema of the subject has written."""
        at = f"/compatibility/subjects/{quote(subject, safe='')}/versions"
        answer = self._ask("POST", at, _NOT_FOUND, body={"schema": normal(schema)})
        return answer.status_code == _NOT_FOUND or bool(answer.json()["is_compatible"])

    def _ask(
        self, method: str, path: str, *expected: int, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise RegistryUnreachableError(f"no answer from {self._url}: {error}") from error
        code = answer.status_code
        if code in (_NO_LOGIN, _NO_RIGHT):
            raise RegistryRefusedError(f"{self._url} refuses user {self._user!r} ({code}): {path}")
        if code >= _BROKEN:
            raise RegistryUnreachableError(f"{self._url} fails ({code}): {_words(answer)}")
        if not answer.is_success and code not in expected:
            raise RegistryRefusedError(f"{self._url}{path}: {_words(answer)}")
        return answer


def publish(client: RegistryClient, files: Iterable[SchemaFile]) -> list[int]:
    """Every file's schema under its own id; which ones are new there."""
    by_id = {one.id: one for one in files}
    check_ids(by_id)
    new = []
    for number in range(1, max(by_id, default=0) + 1):
        known = client.find(number)
        if number in by_id:
            _publish(client, by_id[number], known)
            new += [number] if known is None else []
        elif known is None:
            check_given(number, client.register(*filler(number)), f"unused id {number}")
    return new


def _publish(client: RegistryClient, file: SchemaFile, known: str | None) -> None:
    """Also what is known: to this topic it may be new."""
    check_known(file.id, file.text, known, str(file.file))
    check_given(file.id, client.register(subject_of(file.subject), file.text), str(file.file))


def _refusal(subject: str, answer: httpx.Response) -> str:
    reason = _words(answer).partition("RuleViolationException: ")[2] or _words(answer)
    return (
        f"subject {subject!r}: the schema cannot read what an older one has written: {reason};"
        " give new fields a default, and take none away that has none"
    )


def _words(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("message", answer.text))
    except json.JSONDecodeError:
        return answer.text[:200]
