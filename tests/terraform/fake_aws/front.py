"""Gives each request to the service it was signed for, and to moto what none of ours answers."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from tests.terraform.fake_aws.budgets import Budgets
from tests.terraform.fake_aws.kafka import Kafka
from tests.terraform.fake_aws.mwaa import Mwaa
from tests.terraform.fake_aws.service import AwsError, Json, Request, Service

Environ = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]

_SCOPE = re.compile(r"Credential=[^/]+/\d+/([^/]+)/([^/]+)/")


class Front:
    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._services: dict[str, Service] = {
            "airflow": Mwaa(),
            "budgets": Budgets(),
            "kafka": Kafka(),
        }

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        region, service = _scope(environ)
        ours = self._services.get(service)
        if ours is None:
            return self._ask_moto(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            answer = ours.answer(_request(environ, body, region))
        except AwsError as error:
            return _reply(start_response, error.status, {"message": str(error)}, error.code)
        if answer is None:
            return self._ask_moto(environ, start_response)
        return _reply(start_response, 200, answer)

    def _ask_moto(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer


def _scope(environ: Environ) -> tuple[str, str]:
    match = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    return (match[1], match[2]) if match else ("", "")


def _request(environ: Environ, body: bytes, region: str) -> Request:
    # As it came: an ARN in a path has its slashes escaped.
    url = urlsplit(environ.get("REQUEST_URI") or environ.get("RAW_URI") or environ["PATH_INFO"])
    return Request(
        method=environ["REQUEST_METHOD"],
        path=url.path,
        query=parse_qs(url.query),
        body=json.loads(body) if body else {},
        region=region,
        target=environ.get("HTTP_X_AMZ_TARGET", ""),
    )


def _reply(start: StartResponse, status: int, answer: Json, error: str = "") -> list[bytes]:
    body = json.dumps(answer).encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
    start(f"{status} -", headers + ([("x-amzn-errortype", error)] if error else []))
    return [body]
