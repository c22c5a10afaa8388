"""Events for a webhook that answers nobody: so many wait, and the others are counted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.rules.core.rule_spec import RuleSpec
from millrace.gateway.rules.io.site_webhook import MOST_WAITING, Webhooks


@pytest.fixture
def silent_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_webhook_that_answers_nobody_holds_up_a_thousand_events_and_no_more(
    tmp_path: Path, silent_port: int
) -> None:
    file = tmp_path / "webhook.txt"
    file.touch(0o600)
    file.write_text(f"http://127.0.0.1:{silent_port}/")
    rule = RuleSpec.model_validate(
        {"name": "hot", "sensor": "$.id", "value": "$.v", "above": 80, "topic": "events"}
        | {"webhook": file, "risk": RISK}
    )

    async def post() -> tuple[int, int]:
        webhooks = Webhooks()
        for _ in range(MOST_WAITING + 7):
            webhooks.post(rule, b"{}")
        await asyncio.sleep(0)
        failed, waiting = webhooks.failed, webhooks.waiting
        await webhooks.end()
        return failed, waiting

    assert asyncio.run(post()) == (7, 1_000)
