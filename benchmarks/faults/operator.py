"""What somebody sees who looks at the gateway's page, twice a second."""

from __future__ import annotations

import re
import threading

import httpx

from tests.integration.stands.edge.gateways import RunningGateway

TOKEN = "looks"  # noqa: S105 - of a gateway that lives for seconds, on this machine
_EVERY_S = 0.5
_NO_ANSWER = "the page does not answer"


class Operator(threading.Thread):
    def __init__(self, gateway: RunningGateway) -> None:
        super().__init__(name="operator", daemon=True)
        self._gateway = gateway
        self._noted: dict[str, str] = {}
        self._malformed = self._clock_was_set = 0
        self._ending = threading.Event()

    def run(self) -> None:
        with self._gateway.http(TOKEN, self._gateway.port + 1) as client:
            while not self._ending.wait(_EVERY_S):
                for alarm in self._alarms(client):
                    self._noted.setdefault(re.sub(r"\d[\d,.:]*", "#", alarm), alarm)

    def seen(self) -> list[str]:
        counted = [f"{self._malformed:,} malformed (a count)"] if self._malformed else []
        if self._clock_was_set:
            counted.append(f"its clock was set {self._clock_was_set} times (a count)")
        return [*self._noted.values(), *counted]

    def end(self) -> None:
        self._ending.set()
        self.join(30)

    def _alarms(self, client: httpx.Client) -> list[str]:
        try:
            state = client.get("/status", timeout=5).json()
        except (httpx.HTTPError, OSError):
            return [_NO_ANSWER]
        self._malformed = state["inputs"][0]["malformed"]
        self._clock_was_set = max(self._clock_was_set, state["clock_was_set"])
        return list(state["alarms"])
