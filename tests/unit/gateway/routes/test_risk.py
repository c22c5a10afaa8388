"""A way without TLS is asked for by two keys; webhooks of rules are as careful as incidents'."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from millrace.base.errors import MillraceError
from millrace.gateway.cli import app
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.rules.core.rule_spec import RuleSpec
from millrace.gateway.rules.io.site_webhook import Webhooks, address_of
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.gateway.spec.io.gateway_settings import read_client, with_places
from millrace.gateway.status.core.gateway_page import render_page
from millrace.gateway.status.core.gateway_state import GatewayState

PLAIN = {
    "name": "lines", "kind": "tcp", "listen": "0.0.0.0:7001", "topic": "t",
    "plain": True, "risk": RISK,
}  # fmt: skip
SEALED = "bootstrap.servers=b:1\nsecurity.protocol=SASL_SSL\n"


def spec_in(folder: Path, settings: str, **broker: Any) -> GatewaySpec:
    (folder / "client.properties").write_text(settings)
    given = {"site": "plant-a", "data": "data", "inputs": [PLAIN], "broker": broker}
    return with_places(GatewaySpec.model_validate(given), folder)


@pytest.mark.parametrize(
    ("settings", "key", "instead"),
    [
        ("bootstrap.servers=b:1\n", "security.protocol", "SASL_SSL"),
        ("bootstrap.servers=b:1\nsecurity.protocol=PLAINTEXT\n", "security.protocol", "SASL_SSL"),
        (SEALED + "security.protocol=sasl_plaintext\n", "security.protocol", "SASL_SSL"),
        (SEALED + "enable.ssl.certificate.verification = False\n",
         "enable.ssl.certificate.verification", "true"),
        (SEALED + "enable.ssl.certificate.verification=0\n",
         "enable.ssl.certificate.verification", "true"),
        (SEALED + "ssl.endpoint.identification.algorithm=none\n",
         "ssl.endpoint.identification.algorithm", "https"),
    ],
)  # fmt: skip
def test_a_way_to_the_broker_that_is_open_is_refused(
    tmp_path: Path, settings: str, key: str, instead: str
) -> None:
    with pytest.raises(MillraceError) as caught:
        read_client(spec_in(tmp_path, settings))
    said = str(caught.value)
    assert str(tmp_path / "client.properties") in said
    assert f"{key}=" in said
    assert f"write {key}={instead}, or 'risk: {RISK}' under broker:" in said
    assert read_client(spec_in(tmp_path, settings, risk=RISK))["bootstrap.servers"] == "b:1"


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SSL", "sasl_ssl"])
def test_a_way_with_tls_is_taken(tmp_path: Path, protocol: str) -> None:
    more = "enable.ssl.certificate.verification=true\nssl.endpoint.identification.algorithm=https\n"
    settings = f"bootstrap.servers=b:1\nsecurity.protocol={protocol}\n{more}"
    assert read_client(spec_in(tmp_path, settings))["security.protocol"] == protocol


def test_what_is_without_tls_stands_on_the_page_and_is_said_by_check(tmp_path: Path) -> None:
    spec = spec_in(tmp_path, SEALED, risk=RISK)
    assert spec.risks == (f"input lines: {RISK}", f"broker: {RISK}")
    state = GatewayState(site="a", inputs=(), obstacle="", refusals={}, risks=spec.risks)
    assert "without TLS: <li>input lines: anybody can read and alter it" in render_page(state)
    file = tmp_path / "gateway.yaml"
    lines = "\n".join(
        f"    {key}: {str(value)!r}" for key, value in PLAIN.items() if key != "plain"
    )
    file.write_text(f"site: plant-a\ndata: data\ninputs:\n  - plain: true\n{lines}\n")
    said = CliRunner().invoke(app, ["check", str(file)]).output
    assert f"without TLS: input lines: {RISK}" in " ".join(said.split())
    (tmp_path / "client.properties").write_text("bootstrap.servers=b:1\n")
    assert isinstance(CliRunner().invoke(app, ["check", str(file)]).exception, MillraceError)


# Webhooks of rules.


def rule(file: Path, **more: Any) -> RuleSpec:
    return RuleSpec(name="r", sensor="$.s", value="$.v", above=1, topic="t", webhook=file, **more)


def address_file(folder: Path, address: str, mode: int = 0o600) -> Path:
    file = folder / "webhook"
    file.write_text(address)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("address", "mode", "problem"),
    [
        ("https://hall.example/s3cret", 0o644, "chmod 600"),
        ("http://hall.example/s3cret", 0o600, "https"),
        ("ftp://127.0.0.1/s3cret", 0o600, "https"),
        ("s3cret", 0o600, "https"),
        ("https://hall.example/s3cret\nhttps://other/s3cret", 0o600, "https"),
        ("https://[s3cret", 0o600, "https"),
        ("https://hall:s3cret/", 0o600, "https"),
    ],
)
def test_an_address_that_may_not_be_used_is_named_by_its_file(
    tmp_path: Path, address: str, mode: int, problem: str
) -> None:
    file = address_file(tmp_path, address, mode)
    with pytest.raises(MillraceError, match=problem) as caught:
        address_of(rule(file))
    assert str(file) in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_plain_http_to_another_machine_takes_the_word_of_whoever_wants_it(tmp_path: Path) -> None:
    file = address_file(tmp_path, "http://hall.example/x\n")
    assert address_of(rule(file, risk=RISK)) == "http://hall.example/x"
    assert address_of(rule(address_file(tmp_path, "http://127.0.0.1:1/x")))


@pytest.fixture
def redirecting() -> Iterator[tuple[int, list[str]]]:
    """Sends whoever posts to it to another address of its own."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


def test_a_webhook_follows_nobody_elsewhere(
    tmp_path: Path, redirecting: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.gateway.rules.io.site_webhook._PAUSES_S", ())
    port, asked = redirecting
    watched = rule(address_file(tmp_path, f"http://127.0.0.1:{port}/here"))

    async def post() -> int:
        webhooks = Webhooks()
        webhooks.post(watched, b"{}")
        async with asyncio.timeout(10):
            while not webhooks.failed + webhooks.posted:  # noqa: ASYNC110 - it is a count
                await asyncio.sleep(0.01)
        await webhooks.end()
        return webhooks.failed

    assert asyncio.run(post()) == 1
    assert asked == ["/here"]
