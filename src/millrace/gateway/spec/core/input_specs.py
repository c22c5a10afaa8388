"""Inputs of a gateway: what all of them have, and those that devices connect to."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from millrace.base.duration import Duration
from millrace.base.model import Frozen
from millrace.base.names import Name
from millrace.base.size import Size
from millrace.gateway.routes.core.risk import Risk, check_sealed
from millrace.gateway.routes.core.routes import FromField, FromLevel, KeyRule, TopicRule
from millrace.gateway.rules.core.rule_spec import Rules
from millrace.gateway.spec.core.address import Listen, host_port
from millrace.gateway.spool.core.bounds import AtBound, SpoolBounds

# To read fields of a message takes up to 2 ms a MB, in which nothing else in the process goes on.
MOST_READ_BYTES = 8 << 20


class Tls(Frozen):
    """A server's certificate, and who signs those of its clients."""

    certificate: Path
    # None: in the same file as the certificate.
    key: Path | None = None
    # Only clients with a certificate that this authority signed are let in.
    clients: Path | None = None
    # But for those in this list; who is in it and connected is cut off.
    revoked: Path | None = None

    @model_validator(mode="after")
    def _revokes_whom_it_lets_in(self) -> Tls:
        if self.revoked and self.clients is None:
            raise ValueError("revoked is a list of certificates that tls.clients has signed")
        return self


class SpoolSpec(Frozen):
    """How much is kept on disk while the broker is away."""

    size: Size = 4 << 30
    segment: Annotated[Size, Field(ge=1 << 16, le=1 << 30)] = 64 << 20
    age: Duration | None = None

    @model_validator(mode="after")
    def _holds_two_segments(self) -> SpoolSpec:
        if self.size < 2 * self.segment:
            raise ValueError("size has to be twice segment at least: one is read, one is written")
        return self

    @property
    def bounds(self) -> SpoolBounds:
        age_s = self.age / timedelta(seconds=1) if self.age else None
        return SpoolBounds(segment_bytes=self.segment, total_bytes=self.size, age_s=age_s)


class InputSpec(Frozen):
    """Where messages come in; each has a spool of its own."""

    name: Name
    topic: TopicRule
    key: KeyRule = None
    # Plain text is never a default: it takes both of these.
    plain: bool = False
    risk: Risk | None = None
    at_bound: AtBound = AtBound.BLOCK
    spool: SpoolSpec = SpoolSpec()
    # How much of what no broker takes is kept; at this bound the input's messages wait.
    dead_letters: Size = 256 << 20
    max_message: Annotated[Size, Field(ge=1, le=64 << 20)] = 1_000_000
    rules: Rules = ()

    @model_validator(mode="after")
    def _fits_its_spool(self) -> InputSpec:
        if 2 * self.max_message > self.spool.segment:
            raise ValueError("spool.segment has to be twice max_message at least")
        if 2 * self.max_message > self.dead_letters:
            raise ValueError("dead_letters has to be twice max_message at least")
        return self

    @model_validator(mode="after")
    def _holds_nobody_up(self) -> InputSpec:
        reads = isinstance(self.topic, FromField) or isinstance(self.key, FromField) or self.rules
        if reads and self.max_message > MOST_READ_BYTES:
            raise ValueError(
                f"max_message={self.max_message} is more than {MOST_READ_BYTES}, and fields of"
                " larger messages are not read: they would hold up all inputs; lower it, or do"
                " without key: {field}, topic: {field} and rules"
            )
        return self

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,) if isinstance(self.topic, str) else self.topic.among


class ListeningInput(InputSpec):
    """Devices connect to it."""

    listen: Listen
    # None: plain text, which has to be asked for by `plain` and `risk`.
    tls: Tls | None = None
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 5_000

    @model_validator(mode="after")
    def _is_sealed(self) -> ListeningInput:
        check_sealed(
            has_tls=self.tls is not None,
            plain=self.plain,
            risk=self.risk,
            with_tls="tls: {certificate, key, clients}",
        )
        return self

    @field_validator("key")
    @classmethod
    def _has_no_levels(cls, key: KeyRule) -> KeyRule:
        if isinstance(key, FromLevel):
            problem = "it is of an MQTT topic, which only an input of kind mqtt has"
            raise ValueError(f"level: {problem}")  # noqa: TRY004 - a value of a file
        return key

    @property
    def where(self) -> str:
        return self.listen

    @property
    def host_port(self) -> tuple[str, int]:
        return host_port(self.listen)

    @property
    def is_sent_again(self) -> bool:
        """Whether who sends hears what was not taken, and sends it again."""
        return True


class TcpInput(ListeningInput):
    """A connection on which messages follow each other."""

    kind: Literal["tcp"]
    framing: Literal["lines", "length-prefixed"] = "lines"
    # Each message is answered with its number once it is safe.
    acknowledge: bool = False
    # What HELLO may say: any name, or that of the device's own certificate. None: the latter, where
    # there are certificates.
    names: Literal["any", "certificate"] | None = None
    # Devices that have said HELLO are told the commands for them.
    commands: bool = False
    # A message that has begun has to end within this.
    patience: Duration = timedelta(seconds=30)

    @model_validator(mode="after")
    def _knows_its_clients(self) -> TcpInput:
        if self.tls and self.tls.clients is None:
            raise ValueError("tls.clients is missing: the authority that signs its devices")
        return self

    @model_validator(mode="after")
    def _sees_certificates(self) -> TcpInput:
        if self.names == "certificate" and self.tls is None:
            raise ValueError("names: certificate needs tls, as names are those of certificates")
        return self

    @property
    def is_named_by_certificate(self) -> bool:
        return self.tls is not None and self.names != "any"

    @model_validator(mode="after")
    def _answers_whom_it_commands(self) -> TcpInput:
        if self.commands and not self.acknowledge:
            raise ValueError("commands: true needs acknowledge: true, as devices have to say HELLO")
        return self


class HttpInput(ListeningInput):
    """`POST /messages`, one or many at once."""

    kind: Literal["http"]
    # A file (0600) whose lines are the tokens that are taken.
    tokens: Path | None = None

    @model_validator(mode="after")
    def _knows_its_clients(self) -> HttpInput:
        if self.tls and self.tls.clients is None and self.tokens is None:
            raise ValueError("anybody could send: give it tokens, or tls.clients")
        return self
