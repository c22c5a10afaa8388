"""`millrace register`: what there is at a site: devices, their sensors, what these measure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, print_line
from millrace.devices.core.registration import EntryFilter, RegisteredKind, needs, select
from millrace.devices.core.registration_change import (
    RegistrationChange,
    plan_registration,
    plan_retirement,
)
from millrace.devices.text import entry_json, show_entries, show_entry
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.pipelines.io.loader import load_sites
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.sites.core.user_names import REGISTRAR

if TYPE_CHECKING:
    from millrace.devices.io.registrar import Decide, Registrar

app = typer.Typer(
    no_args_is_help=True,
    help="Register devices, sensors and sensor types of a site; list, show and retire them.",
)

Site = Annotated[
    str | None,
    typer.Option(
        metavar="SITE", help="Whose, as in dags/sites/<name>.yaml; needed where there are several."
    ),
]
KindOf = Annotated[RegisteredKind, typer.Argument(help="What it is.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its id, such as press-7.")]
Description = Annotated[str | None, typer.Option(help="More words about it, for people.")]
Again = Annotated[bool, typer.Option("--again", help="Bring it back if it is retired.")]


@app.command()
def device(
    object_id: Annotated[
        str, typer.Argument(metavar="ID", help="The device's own id, such as press-7.")
    ],
    *,
    name: Annotated[
        str | None, typer.Option(help="What people call it, such as 'Press 7'.")
    ] = None,
    location: Annotated[
        str | None, typer.Option(help="Where it stands, such as 'Hall 2, line 3'.")
    ] = None,
    description: Description = None,
    site: Site = None,
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Register a device, or change what is registered: options that are left out stay as they are.

    A new one needs --name and --location. The same once more changes nothing.

    Example: millrace register device press-7 --name 'Press 7' --location 'Hall 2' --site plant-a
    """
    given = {"name": name, "location": location, "description": description}
    _register(RegisteredKind.DEVICE, object_id, given, site, again=again, as_json=as_json)


@app.command()
def sensor(
    object_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The sensor's id: the key of its measurements, such as press-7-t1."
        ),
    ],
    *,
    name: Annotated[
        str | None, typer.Option(help="What people call it, such as 'Oil temperature'.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="ID", help="The registered device that it is part of.")
    ] = None,
    sensor_type: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The registered sensor type: what it measures, in what."),
    ] = None,
    description: Description = None,
    site: Site = None,
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Register a sensor, or change what is registered: options that are left out stay as they are.

    A new one needs --name, --device and --sensor-type; both must be registered and not retired.

    Example: millrace register sensor press-7-t1 --name 'Oil temperature' --device press-7
    --sensor-type temperature-c --site plant-a
    """
    given = {
        "name": name,
        "device_id": device,
        "sensor_type_id": sensor_type,
        "description": description,
    }
    _register(RegisteredKind.SENSOR, object_id, given, site, again=again, as_json=as_json)


@app.command("sensor-type")
def sensor_type(
    object_id: Annotated[
        str, typer.Argument(metavar="ID", help="Its own id, such as temperature-c.")
    ],
    *,
    name: Annotated[
        str | None, typer.Option(help="What is measured, such as 'Temperature'.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="The unit of its values, such as C; 1 for a number without a unit."),
    ] = None,
    description: Description = None,
    site: Site = None,
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Register a sensor type, or change what is registered; what is left out stays as it is.

    A new one needs --name and --unit. The unit of one that sensors have does not change.

    Example: millrace register sensor-type humidity --name Humidity --unit % --site plant-a
    """
    given = {"name": name, "unit": unit, "description": description}
    _register(RegisteredKind.SENSOR_TYPE, object_id, given, site, again=again, as_json=as_json)


@app.command("list")
def list_things(
    kind: Annotated[
        RegisteredKind | None, typer.Argument(help="Only these; without it, all three.")
    ] = None,
    *,
    device: Annotated[
        str | None, typer.Option(metavar="ID", help="Only sensors of this device.")
    ] = None,
    sensor_type: Annotated[
        str | None, typer.Option(metavar="ID", help="Only sensors of this sensor type.")
    ] = None,
    retired: Annotated[bool, typer.Option("--retired", help="Show retired ones too.")] = False,
    site: Site = None,
    as_json: Json = False,
) -> None:
    """Show what is registered at a site.

    Example: millrace register list sensor --device press-7 --site plant-a
    """
    known = _registrar(site).read()
    wanted = EntryFilter(kind=kind, device=device, sensor_type=sensor_type, retired=retired)
    entries = select(known, wanted)
    if as_json:
        print_json([entry_json(entry) for entry in entries])
    else:
        show_entries(known, entries)


@app.command()
def show(kind: KindOf, object_id: Id, *, site: Site = None, as_json: Json = False) -> None:
    """Show one device, sensor or sensor type: what it needs, and which sensors need it.

    Example: millrace register show device press-7 --site plant-a
    """
    known = _registrar(site).read()
    entry = known.find(kind, object_id)
    above = [known.find(*need) for need in needs(entry.thing)]
    below = known.dependents(kind, object_id)
    if as_json:
        needed = [entry_json(one) for one in above]
        print_json({**entry_json(entry), "needs": needed, "needed_by": below})
    else:
        show_entry(entry, above, below)


@app.command()
def retire(kind: KindOf, object_id: Id, *, site: Site = None, as_json: Json = False) -> None:
    """Retire a device, sensor or sensor type; refused while a sensor in use needs it.

    It stays on record, so that what it measured keeps its name, and its id is not given again.

    Example: millrace register retire sensor press-7-t1 --site plant-a
    """
    now = datetime.now(UTC)
    _carry_out(site, lambda known: plan_retirement(known, kind, object_id, now), as_json=as_json)


def _register(
    kind: RegisteredKind,
    object_id: str,
    options: Mapping[str, str | None],
    site: str | None,
    *,
    again: bool,
    as_json: bool,
) -> None:
    given = {field: value for field, value in options.items() if value is not None}
    _carry_out(
        site,
        lambda known: plan_registration(known, kind, object_id, given, again=again),
        as_json=as_json,
    )


def _carry_out(site: str | None, decide: Decide, *, as_json: bool) -> None:
    change: RegistrationChange = _registrar(site).carry_out(decide)
    if as_json:
        print_json({**entry_json(change.entry), "outcome": change.outcome})
    else:
        print_line(str(change))


def _registrar(name: str | None) -> Registrar:
    from millrace.devices.io.registrar import Registrar
    from millrace.schemas.io.avro import Schemas
    from millrace.secrets.io.passwords import read_user

    layout = platform_here()
    site = find_site(layout, name or _only_site())
    login = read_user(layout, site.name, REGISTRAR)
    settings = librdkafka_settings(site, layout.ca, login.username, login.password)
    return Registrar(site, settings, Schemas.load(layout.schemas))


def _only_site() -> str:
    names = [site.name for site in load_sites(platform_here())]
    if len(names) != 1:
        there_are = ", ".join(names) or "none; write one in dags/sites/<name>.yaml"
        raise MillraceError(f"which site? Name it with --site; sites are: {there_are}")
    return names[0]
