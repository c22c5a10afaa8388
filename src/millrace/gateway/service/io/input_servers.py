"""What every kind of input has: a place where messages come in."""

from __future__ import annotations

from typing import Protocol

from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.inputs.io.http_server import HttpServer
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.inputs.io.tcp_server import TcpServer
from millrace.gateway.mqtt.io.mqtt_server import MqttServer
from millrace.gateway.spec.core.gateway_file import Input
from millrace.gateway.spec.core.input_specs import HttpInput
from millrace.gateway.spec.core.mqtt_input import MqttInput


class Server(Protocol):
    async def start(self) -> None: ...

    def look_after(self) -> None:
        """Once a second: certificates that were renewed, connections that hang."""

    @property
    def connection_count(self) -> int: ...

    @property
    def refused_connections(self) -> int:
        """There were as many as may be."""
        ...

    async def stop_listening(self) -> None: ...

    async def end(self) -> None: ...


def server_of(spec: Input, intake: Intake, handles: Handles, commander: Commander | None) -> Server:
    """`commander` None: no device hears commands."""
    if isinstance(spec, MqttInput):
        return MqttServer(spec, intake, commander)
    if isinstance(spec, HttpInput):
        return HttpServer(spec, intake, handles)
    return TcpServer(spec, intake, handles, commander if spec.commands else None)
