"""A site: one Kafka cluster at the edge, and how its clients reach it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from millrace.core.model import Frozen, Name
from millrace.core.simulation import Simulator


def check_bootstrap(text: str) -> str:
    for server in text.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise ValueError(
                f"{server.strip()!r} is not host:port; write such as 'kafka.plant-a.example:9093'"
            )
    return text


_PLAIN_TEXT = {
    "security.protocol": {"plaintext", "sasl_plaintext"},
    "enable.ssl.certificate.verification": {"false"},
}

ClientSettings = dict[str, str | int | float | bool]


def _refuse_plain_text(settings: ClientSettings) -> ClientSettings:
    for key, value in settings.items():
        if str(value).lower() in _PLAIN_TEXT.get(key.removeprefix("java."), set()):
            raise ValueError(f"{key}={value} would send data unprotected, which Millrace refuses")
    return settings


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
    # Handed to the underlying Kafka clients as they are; a key that only one of them knows
    # is written `librdkafka.<key>` or `java.<key>`.
    client: Annotated[ClientSettings, AfterValidator(_refuse_plain_text)] = Field(
        default_factory=dict
    )
    # By which devices reach the site's gateway: a host name or an address, for its certificate.
    gateway_host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]*$", max_length=253)] = ""
    local: LocalBroker | None = None

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
