"""An input that subscribes to the site's MQTT broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from millrace.base.model import Frozen
from millrace.gateway.routes.core.risk import check_sealed
from millrace.gateway.spec.core.address import Listen, host_port
from millrace.gateway.spec.core.input_specs import InputSpec

DEVICE = "{device}"


def _check_device_topic(text: str) -> str:
    levels = text.split("/")
    if levels.count(DEVICE) != 1 or any(mark in text for mark in "+#"):
        raise ValueError(f"{text!r} needs one level {DEVICE}; write such as 'commands/{DEVICE}'")
    return text


def _check_filter(text: str) -> str:
    levels = text.split("/")
    has_mixed = any(len(one) > 1 and ("+" in one or "#" in one) for one in levels)
    if not text or has_mixed or "#" in levels[:-1]:
        raise ValueError(
            f"{text!r} is no filter of MQTT topics; write such as 'plant/+/state' or 'plant/#'"
        )
    return text


TopicFilter = Annotated[str, AfterValidator(_check_filter)]
DeviceTopic = Annotated[str, AfterValidator(_check_device_topic)]


class ClientTls(Frozen):
    """Who signs the server's certificate, and the client's own where it has one."""

    ca: Path
    certificate: Path | None = None
    # None: in the same file as the certificate.
    key: Path | None = None


class MqttCommands(Frozen):
    """By which MQTT topics a device hears commands, and says what became of them."""

    to: DeviceTopic = "commands/{device}"
    outcomes: DeviceTopic = "outcomes/{device}"

    def topic_of(self, device: str) -> str:
        return self.to.replace(DEVICE, device)

    def response_topic_of(self, device: str) -> str:
        return self.outcomes.replace(DEVICE, device)

    @property
    def outcome_filter(self) -> str:
        return self.outcomes.replace(DEVICE, "+")

    def answering_device(self, topic: str) -> str | None:
        """Whose topic for outcomes this is."""
        levels, wanted = topic.split("/"), self.outcomes.split("/")
        at = wanted.index(DEVICE)
        if len(levels) != len(wanted) or [*levels[:at], DEVICE, *levels[at + 1 :]] != wanted:
            return None
        return levels[at]


class MqttInput(InputSpec):
    """A subscriber of the site's MQTT 5 broker."""

    kind: Literal["mqtt"]
    broker: Listen
    subscribe: Annotated[tuple[TopicFilter, ...], Field(min_length=1)]
    # The client's name at the broker, which keeps for it what comes while the gateway is away.
    session: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    tls: ClientTls | None = None
    # A file (0600) with username=... and password=...
    login: Path | None = None
    # None: none of its devices is told any.
    commands: MqttCommands | None = None
    # How many messages may be under way that are not on disk yet.
    receive_maximum: Annotated[int, Field(ge=1, le=65_535)] = 500

    @model_validator(mode="after")
    def _is_sealed(self) -> MqttInput:
        check_sealed(
            has_tls=self.tls is not None, plain=self.plain, risk=self.risk, with_tls="tls: {ca}"
        )
        return self

    @model_validator(mode="after")
    def _is_known_to_the_broker(self) -> MqttInput:
        has_certificate = self.tls and self.tls.certificate
        if not (has_certificate or self.login or self.plain):
            raise ValueError("the MQTT broker could not know it: give it login, or tls.certificate")
        return self

    @property
    def where(self) -> str:
        return self.broker

    @property
    def host_port(self) -> tuple[str, int]:
        return host_port(self.broker)

    @property
    def is_sent_again(self) -> bool:
        """A broker takes any answer for the end of a message."""
        return False
