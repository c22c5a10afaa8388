"""`millrace command`: what a device is to do, and what became of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from millrace.base.duration import parse_duration
from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, print_line
from millrace.gateway.commands.core.command import Command, CommandOutcome, CommandResult
from millrace.gateway.commands.core.command_states import MOST_LIFE
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.kafka.core.platform_topics import OUTCOMES
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.secrets.io.passwords import read_user
from millrace.sites.core.user_names import APP

# From a command's end to its outcome at the broker.
_GRACE = timedelta(seconds=10)
_NOT_DONE = 1


def command(
    site: Annotated[str, typer.Argument(help="A site's name, as in dags/sites/<name>.yaml.")],
    device: Annotated[str, typer.Argument(help="As it says HELLO, or as its MQTT topic names it.")],
    name: Annotated[str, typer.Argument(help="What it is to do.")],
    *,
    argument: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE, as often as needed; JSON, or else text.")
    ] = None,
    expires: Annotated[
        str, typer.Option(help="If its device has not heard it by then, it never will.")
    ] = "30 seconds",
    wait: Annotated[bool, typer.Option("--wait", help="Wait for what becomes of it.")] = False,
    as_json: Json = False,
) -> None:
    """Tell a device of a site what to do. Exit code 1 where --wait hears that it is not done."""
    # The engine is imported by the command that needs it: `millrace check` needs none.
    from millrace.gateway.commands.io.command_sender import OutcomeReader, send_command

    layout = platform_here()
    spec = find_site(layout, site)
    wanted = make_command(device, name, argument or (), expires, datetime.now(UTC))
    login = read_user(layout, spec.name, APP)
    settings = librdkafka_settings(spec, layout.ca, login.username, login.password)
    if not wait:
        issued = send_command(spec, settings, wanted)
        _show(issued, None, spec.name, as_json=as_json)
        return
    with closing(OutcomeReader(spec, settings)) as reader:
        issued = send_command(spec, settings, wanted)
        outcome = reader.wait_for(issued.id, issued.expires_at + _GRACE)
    if outcome is None:
        raise MillraceError(
            f"site {spec.name!r}: nobody says what became of command {issued.id}; does its gateway"
            f" run, and has it an input with commands? See 'millrace tail {OUTCOMES}@{spec.name}'"
        )
    _show(issued, outcome, spec.name, as_json=as_json)
    if outcome.outcome is not CommandResult.DONE:
        raise typer.Exit(_NOT_DONE)


def make_command(
    device: str, name: str, arguments: Sequence[str], expires: str, now: datetime
) -> Command:
    try:
        life = parse_duration(expires)
    except ValueError as error:
        raise MillraceError(f"--expires={expires}: {error}") from error
    if life > MOST_LIFE:
        raise MillraceError(f"--expires={expires}: write {MOST_LIFE.days} days at most")
    given = dict(_argument(one) for one in arguments)
    try:
        return Command(
            id=uuid.uuid4().hex,
            device=device,
            name=name,
            arguments=given,
            issued_at=now,
            expires_at=now + life,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise MillraceError(f"{first['loc'][0]}={first['input']!r}: {first['msg']}") from error


def _argument(text: str) -> tuple[str, Any]:
    key, found, value = text.partition("=")
    if not key or not found:
        raise MillraceError(f"--argument={text}: write KEY=VALUE, such as speed=5")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _show(issued: Command, outcome: CommandOutcome | None, site: str, *, as_json: bool) -> None:
    if as_json:
        told = outcome.model_dump(mode="json") if outcome else None
        print_json({"command": issued.model_dump(mode="json"), "outcome": told})
    elif outcome:
        print_line(f"{outcome.outcome}: {outcome.text}" if outcome.text else outcome.outcome)
    else:
        until = issued.expires_at.isoformat(timespec="seconds")
        print_line(f"command {issued.id} for {issued.device} is sent, until {until}")
        print_line(f"what becomes of it: millrace tail {OUTCOMES}@{site}")
