"""A site: one Kafka cluster at the edge, and how its clients reach it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from millrace.base.model import Frozen
from millrace.base.names import Name
from millrace.sites.core.client_settings import check_client_settings
from millrace.sites.core.simulation import Simulator

# It becomes a line of settings, so it holds no line break and nothing else that could begin one.
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


def check_bootstrap(text: str) -> str:
    for server in text.split(","):
        host, _, port = server.strip().rpartition(":")
        is_port = re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65_536
        if not _HOST.fullmatch(host) or not is_port:
            raise ValueError(
                f"{server.strip()!r} is not host:port; write such as 'kafka.plant-a.example:9093'"
            )
    return text


ClientSettings = dict[str, str | int | float | bool]


class LocalGateway(Frozen):
    """Present: `millrace up` runs this site's gateway too, and the simulator sends through it."""

    # Where devices connect; its page and its metrics are at the port after it.
    port: Annotated[int, Field(ge=1, le=65_534)]


class LocalBroker(Frozen):
    """Present: `millrace up` runs this site's broker and its simulator on this machine."""

    memory: Annotated[str, Field(pattern=r"^[1-9]\d*[mg]$")] = "256m"
    # More than one only pays where they stand on machines of their own; here they let one die.
    brokers: Annotated[int, Field(ge=1, le=9)] = 1
    simulator: Simulator | None = None
    gateway: LocalGateway | None = None


class SiteSpec(Frozen):
    """What stands in `dags/sites/<name>.yaml`."""

    name: Name
    bootstrap: Annotated[str, AfterValidator(check_bootstrap)]
    description: str = ""
    # Tunes the Kafka clients; a key that only one of them knows is written `librdkafka.<key>` or
    # `java.<key>`.
    client: Annotated[ClientSettings, AfterValidator(check_client_settings)] = Field(
        default_factory=dict
    )
    # By which devices reach the site's gateway: a host name or an address, for its certificate.
    gateway_host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]*$", max_length=253)] = ""
    # Whether programs other than the site's gateway may write the pipelines' topics, as user `app`.
    # They are trusted with what the gateway's numbers say, then: anybody who writes can take one.
    direct: bool = False
    local: LocalBroker | None = None

    @property
    def is_simulated_directly(self) -> bool:
        """Whether its simulator goes past a gateway, or has none to go through."""
        return self.direct or bool(self.local and not self.local.gateway)

    @property
    def port(self) -> int:
        return int(self.bootstrap.split(",")[0].rpartition(":")[2])

    @property
    def admin_port(self) -> int:
        """Where administrators and the broker itself connect, by certificate."""
        return self.port + 1

    @property
    def controller_port(self) -> int:
        return self.port + 2

    @property
    def brokers(self) -> int:
        """How many this machine runs."""
        return self.local.brokers if self.local else 0
