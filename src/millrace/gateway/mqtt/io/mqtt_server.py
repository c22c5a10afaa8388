"""Messages of the site's MQTT broker, each acknowledged when it is on disk."""

from __future__ import annotations

import logging
import time
from functools import partial

from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.inputs.io.intake import Intake
from millrace.gateway.mqtt.core.flights import ORIGIN, Arrival, Flight, Flights, numbered, origin_in
from millrace.gateway.mqtt.core.mqtt_packet import Published
from millrace.gateway.mqtt.core.repetitions import Repetitions
from millrace.gateway.mqtt.io.mqtt_client import NOT_TAKEN, QUOTA_EXCEEDED, MqttClient
from millrace.gateway.mqtt.io.mqtt_commands import MqttCarrier
from millrace.gateway.spec.core.mqtt_input import MqttInput
from millrace.gateway.spool.core.ledger import Unkept, are_safe
from millrace.gateway.spool.io.committer import Outcome, ReceivedBatch

log = logging.getLogger(__name__)


class MqttServer:
    def __init__(self, spec: MqttInput, intake: Intake, commander: Commander | None = None) -> None:
        self._spec = spec
        self._intake = intake
        self._flights = Flights()
        # Of QoS 0, of which the broker keeps no count.
        self._uncounted = 0
        self._was_connected = False
        self._repetitions = Repetitions(2 * spec.receive_maximum)
        self.client = MqttClient(spec, self._on_connected, self._on_message)
        intake.obstacle = self.client.obstacle
        self._carrier: MqttCarrier | None = None
        if spec.commands and commander:
            self._carrier = MqttCarrier(spec.commands, self.client, commander)

    async def start(self) -> None:
        self.client.start()

    @property
    def connection_count(self) -> int:
        return int(self.client.is_connected)

    @property
    def refused_connections(self) -> int:
        return 0

    def look_after(self) -> None:
        self.client.look_after()
        self._intake.obstacle = self.client.obstacle

    async def stop_listening(self) -> None:
        self.client.stop_reading()

    async def end(self) -> None:
        self.client.end()

    def _on_connected(self, is_resumed: bool) -> None:
        if not is_resumed and self._was_connected:
            log.warning(
                "%s: the MQTT broker forgot the session; what it held for the gateway may be lost",
                self._spec.name,
            )
        self._was_connected = True
        self._flights.on_connected(is_resumed=is_resumed)
        if self._carrier:
            self._carrier.on_connected()

    def _on_message(self, message: Published) -> None:
        commands = self._spec.commands
        device = commands.answering_device(message.topic) if commands else None
        if message.qos > 0:
            self._on_counted(message, device)
        elif device is None:
            self._take_if_there_is_room(message)
        elif self._carrier:
            self._carrier.take(message, device, _nothing)

    def _on_counted(self, message: Published, device: str | None) -> None:
        flight, arrival = self._flights.on_message(message.packet)
        if arrival is Arrival.TAKE and device and self._carrier:
            self._carrier.take(message, device, partial(self._acknowledge, flight))
        elif arrival is Arrival.TAKE:
            self._take_counted(message, flight)
        elif arrival is Arrival.ACKNOWLEDGE:
            self._flights.on_acknowledged(flight)
            self.client.acknowledge(flight.packet)

    def _take_counted(self, message: Published, flight: Flight) -> None:
        if len(message.payload) > self._spec.max_message:
            self._say_too_long(message)
            self._flights.on_acknowledged(flight)
            self.client.refuse(flight.packet, NOT_TAKEN)
            return
        origin, number = numbered(message.topic, message.user_properties)
        answer = partial(self._answer, flight, message)
        self._intake.take_by(message.topic, message.payload, answer, origin, number)

    def _acknowledge(self, flight: Flight) -> None:
        if self._flights.on_safe(flight, is_connected=self.client.is_connected):
            self.client.acknowledge(flight.packet)

    def _answer(
        self, flight: Flight, message: Published, _batch: ReceivedBatch, outcome: Outcome
    ) -> None:
        if outcome and isinstance(outcome[0], Unkept):
            self._on_unkept(outcome[0], message)
        if not self._flights.on_safe(flight, is_connected=self.client.is_connected):
            return
        if outcome is None:
            self.client.refuse(flight.packet, QUOTA_EXCEEDED)
        elif not are_safe(outcome):
            self.client.refuse(flight.packet, NOT_TAKEN)
        else:
            self.client.acknowledge(flight.packet)

    def _on_unkept(self, unkept: Unkept, message: Published) -> None:
        """The broker tells nobody who has published a message; but a name that two publishers use
        shows by its numbers."""
        now_s, name = time.monotonic(), f"{origin_in(message.user_properties)} on {message.topic}"
        if unkept is Unkept.LONG_KNOWN and not self._repetitions.are_too_many(name, now_s):
            return
        if unkept in (Unkept.OTHER, Unkept.LONG_KNOWN) and self._intake.contested.note(name, now_s):
            log.warning(
                "%s: %s: messages are discarded, as others came before with their numbers: two"
                " publishers use one %s, or one has begun to count anew",
                *(self._spec.name, name, ORIGIN),
            )

    def _take_if_there_is_room(self, message: Published) -> None:
        """Nobody waits for these, so they must not fill the memory."""
        if len(message.payload) > self._spec.max_message:
            self._say_too_long(message)
        elif self._uncounted >= self._spec.receive_maximum:
            self._intake.refused += 1
        else:
            self._uncounted += 1
            self._intake.take_by(message.topic, message.payload, self._forget)

    def _forget(self, _batch: ReceivedBatch, _outcome: Outcome) -> None:
        self._uncounted -= 1

    def _say_too_long(self, message: Published) -> None:
        self._intake.malformed += 1
        name, most = self._spec.name, self._spec.max_message
        log.error("%s: longer than %s bytes, not taken: %s", name, most, message.topic)


def _nothing() -> None:
    """Of QoS 0, the MQTT broker hears of nothing."""
