"""The file of a gateway that runs on this machine, beside its site's broker."""

from __future__ import annotations

from typing import Any

from millrace.sites.core.simulation import Simulator
from millrace.sites.core.spec import LocalGateway

GATEWAY_FILE, TOKEN = "gateway.yaml", "token"
# Before a message of the simulator stands its key.
KEY_MARK = b"\t"
SERVER = "gateway"


def gateway_program(site: str) -> str:
    return f"gateway-{site}"


def local_gateway(
    site: str, gateway: LocalGateway, simulator: Simulator, listen: str
) -> dict[str, Any]:
    """Takes what the simulator sends, by TLS, from devices that our authority has signed."""
    return {
        "site": site,
        "data": "data",
        "inputs": [
            {
                "name": "devices",
                "kind": "tcp",
                "listen": f"{listen}:{gateway.port}",
                "framing": "length-prefixed",
                "acknowledge": True,
                "topic": simulator.topic,
                "key": {"before": KEY_MARK.decode()},
            }
        ],
        "status": {"listen": f"{listen}:{gateway.port + 1}"},
    }
