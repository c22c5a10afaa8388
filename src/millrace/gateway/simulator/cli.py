"""`millrace simulate`: sensors that are not there, sending what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

import typer
from pydantic import ValidationError

from millrace.base.errors import MillraceError
from millrace.base.output import print_line
from millrace.gateway.spec.core.local_file import KEY_MARK, gateway_program
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.secrets.io.passwords import read_user
from millrace.settings.core.paths import Paths
from millrace.sites.core.simulation import SIMULATOR_CA, SIMULATOR_KEY, Simulator, simulator_name
from millrace.sites.core.spec import LocalGateway, SiteSpec

if TYPE_CHECKING:
    from millrace.gateway.simulator.io.simulator import Sending


def simulate(
    context: typer.Context,
    site: Annotated[str, typer.Argument(help="A site's name, as in dags/sites/<name>.yaml.")],
    *,
    rate: Annotated[float | None, typer.Option(help="Messages per second.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed sends the same data.")] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many; without it, Ctrl-C stops.")
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(
            help="Time of the first measurement (UTC); default is now. "
            "Seed and start together make two runs equal to the byte."
        ),
    ] = None,
    topic: Annotated[str | None, typer.Option(help="Where to send.")] = None,
    format: Annotated[Literal["avro", "json"] | None, typer.Option(help="How to encode.")] = None,
    sensors: Annotated[int | None, typer.Option(help="How many sensors take turns.")] = None,
    base: Annotated[float | None, typer.Option(help="Where the temperature settles.")] = None,
    target: Annotated[float | None, typer.Option(help="Where it begins: base + target.")] = None,
    noise: Annotated[float | None, typer.Option(help="Half the width of the noise.")] = None,
    unit: Annotated[Literal["C", "F", "K"] | None, typer.Option(help="Unit sent along.")] = None,
    interval_ms: Annotated[
        int | None, typer.Option(help="Time between two measurements of one sensor.")
    ] = None,
    spike_chance: Annotated[float | None, typer.Option(help="Chance of a spike, 0 to 1.")] = None,
    spike: Annotated[float | None, typer.Option(help="How far a spike rises.")] = None,
    user: Annotated[
        str, typer.Option("--as", help="Which of the site's users sends.")
    ] = "simulator",
    direct: Annotated[
        bool,
        typer.Option(
            "--direct",
            help="To the broker, past the gateway: needs direct: true in the site's file.",
        ),
    ] = False,
) -> None:
    """Send simulated temperatures to a site; what is not said here stands in the site's file.

    They go through the gateway that this machine runs for the site, if it runs one. Waits while
    the site or its topic is not there yet, and sends again what failed.
    """
    # The engine is imported by the command that needs it: `millrace check` needs none.
    from millrace.gateway.simulator.io.simulator import simulate as run_simulator
    from millrace.gateway.simulator.io.simulator import stop_on_signals
    from millrace.schemas.io.avro import Schemas

    layout = platform_here()
    spec = find_site(layout, site)
    simulator = with_overrides(_of_site(spec), context.params)
    goes_through = spec.local.gateway if spec.local and not direct else None
    if goes_through:
        sender = _through(goes_through, spec, layout)
    else:
        sender = _to_broker(spec, layout, simulator, user)
    delivered = run_simulator(
        spec,
        sender,
        simulator,
        Schemas.load(layout.schemas),
        stop=stop_on_signals(),
        say=print_line,
        count=count,
        start_at=start.replace(tzinfo=UTC) if start else None,
    )
    print_line(f"{delivered:,} messages delivered to {simulator.topic}@{spec.name}")


def _through(gateway: LocalGateway, site: SiteSpec, layout: Paths) -> Sending:
    from millrace.gateway.client.io.device import Address, device_tls
    from millrace.gateway.client.io.device_sender import DeviceSender

    folder = layout.simulator(site.name)
    tls = device_tls(str(folder / SIMULATOR_CA), str(folder / SIMULATOR_KEY))
    host = layout.host(gateway_program(site.name))
    address = Address(host, gateway.port, tls, is_length_prefixed=True)
    name = f"{simulator_name(site.name)}/{uuid4().hex[:12]}"
    return DeviceSender(site.name, address, name, KEY_MARK)


def _to_broker(site: SiteSpec, layout: Paths, simulator: Simulator, user: str) -> Sending:
    from millrace.kafka.io.sender import Sender

    def login() -> dict[str, str]:
        now = read_user(layout, site.name, user)
        return {"sasl.username": now.username, "sasl.password": now.password}

    settings = {**librdkafka_settings(site, layout.ca, "", ""), **login()}
    return Sender(site, settings, simulator.topic, login)


def _of_site(site: SiteSpec) -> Simulator:
    return (site.local and site.local.simulator) or Simulator()


def with_overrides(simulator: Simulator, given: Mapping[str, object]) -> Simulator:
    """The site's own simulator, but for what the command line says."""
    said = {key: given[key] for key in Simulator.model_fields if given.get(key) is not None}
    try:
        return Simulator.model_validate(simulator.model_dump() | said)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise MillraceError(f"{option}={first['input']}: {first['msg']}") from error
