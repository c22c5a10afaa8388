"""A service that moto lacks: a table of routes, each a method of one class."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote

ACCOUNT = "123456789012"
CREATED_AT = "2026-01-01T00:00:00.000Z"

Json = dict[str, Any]


class AwsError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def not_found(what: str, code: str = "NotFoundException") -> AwsError:
    return AwsError(404, code, f"{what} not found")


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    body: Json
    region: str
    # Of services that name the operation in a header.
    target: str = ""


Handler = Callable[..., Json]


class Service:
    """`routes`: method, pattern of the path, name of the method that answers."""

    routes: ClassVar[Sequence[tuple[str, str, str]]] = ()

    def answer(self, request: Request) -> Json | None:
        """None: not ours, so moto answers."""
        for method, pattern, name in self.routes:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                handler: Handler = getattr(self, name)
                return handler(request, *map(unquote, match.groups()))
        return None


class Tags:
    """The tags of a service's resources, by ARN."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, str]] = {}

    def set(self, arn: str, tags: dict[str, str] | None) -> None:
        self._of[arn] = dict(tags or {})

    def of(self, arn: str) -> dict[str, str]:
        return self._of.setdefault(arn, {})

    def list(self, _request: Request, arn: str) -> Json:
        return {"tags": self.of(arn), "Tags": self.of(arn)}

    def add(self, request: Request, arn: str) -> Json:
        self.of(arn).update(request.body.get("tags") or request.body.get("Tags") or {})
        return {}

    def remove(self, request: Request, arn: str) -> Json:
        for key in request.query.get("tagKeys", []):
            self.of(arn).pop(key, None)
        return {}
