"""What stands in a gateway's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from millrace.base.duration import Duration
from millrace.base.model import Frozen
from millrace.base.names import Name
from millrace.gateway.commands.core.command import DeviceName
from millrace.gateway.routes.core.risk import RISK, Risk
from millrace.gateway.spec.core.address import Listen, host_port
from millrace.gateway.spec.core.input_specs import HttpInput, TcpInput
from millrace.gateway.spec.core.mqtt_input import MqttInput
from millrace.kafka.core.platform_topics import COMMANDS

# Where what rules tell is kept, beside the inputs' folders.
EVENTS = "events"
Input = Annotated[TcpInput | HttpInput | MqttInput, Field(discriminator="kind")]


class BrokerSpec(Frozen):
    """Settings of librdkafka, a key and a value a line, as in a site's bundle."""

    settings: Path = Path("client.properties")
    password: Path = Path("password.properties")
    # How long a topic may be missing or refuse before what is for it becomes a dead letter; None:
    # it is waited for.
    patience: Duration | None = None
    # Asks for a broker without TLS, or whose certificate nobody looks at.
    risk: Risk | None = None


class StatusSpec(Frozen):
    """A page for people and metrics for Prometheus, by HTTPS."""

    listen: Listen
    certificate: Path
    # None: in the same file as the certificate.
    key: Path | None = None
    # A file (0600) whose lines are the tokens that are taken, each also as any user's password.
    token: Path
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 100

    @property
    def host_port(self) -> tuple[str, int]:
        return host_port(self.listen)


class CommandsSpec(Frozen):
    """Whom the gateway may command; on which inputs, these say."""

    # None: any device that is there.
    devices: frozenset[DeviceName] | None = None
    most_open: Annotated[int, Field(ge=1, le=100_000)] = 1_000


class GatewaySpec(Frozen):
    site: Name
    # What it keeps: spools, dead letters, what is delivered.
    data: Path
    broker: BrokerSpec = BrokerSpec()
    inputs: Annotated[tuple[Input, ...], Field(min_length=1)]
    commands: CommandsSpec = CommandsSpec()
    status: StatusSpec | None = None

    @property
    def risks(self) -> tuple[str, ...]:
        """Ways without TLS that its file has asked for."""
        found = [f"input {one.name}" for one in self.inputs if one.risk]
        found += [
            f"webhook of rule {rule.name}" for one in self.inputs for rule in one.rules if rule.risk
        ]
        if self.broker.risk:
            found.append("broker")
        return tuple(f"{what}: {RISK}" for what in found)

    @property
    def takes_commands(self) -> bool:
        return any(getattr(one, "commands", None) for one in self.inputs)

    @model_validator(mode="after")
    def _leaves_room_for_commands(self) -> GatewaySpec:
        if any(one.name == COMMANDS for one in self.inputs):
            raise ValueError(f"no input may be called {COMMANDS!r}: outcomes have this folder")
        return self

    @model_validator(mode="after")
    def _leaves_events_free(self) -> GatewaySpec:
        if any(one.name == EVENTS for one in self.inputs):
            raise ValueError(
                f"no input may have the name {EVENTS!r}: what rules tell is kept there"
            )
        return self

    @model_validator(mode="after")
    def _has_each_once(self) -> GatewaySpec:
        for what in ("name", "listen", "session"):
            values = [getattr(one, what) for one in self.inputs if hasattr(one, what)]
            twice = {value for value in values if values.count(value) > 1}
            if twice:
                raise ValueError(f"two inputs have {what} {sorted(twice)[0]!r}; each needs its own")
        return self
