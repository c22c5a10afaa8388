"""`millrace authority`: a new root, or a new authority of a site's devices, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from millrace.base.output import Json, print_json, print_line
from millrace.pipelines.io.loader import load_sites
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site

if TYPE_CHECKING:
    from millrace.secrets.io.succession import AuthorityPlace

app = typer.Typer(
    no_args_is_help=True,
    help="Put a new authority in the place of an old one: begin, switch, end.",
)
Site = Annotated[
    str | None, typer.Option(metavar="SITE", help="Of this site's devices; without it: the root.")
]


@app.command("list")
def list_authorities(*, as_json: Json = False) -> None:
    """Show all authorities: until when they are good, and which step of a change was done last."""
    from millrace.secrets.io.succession import AuthorityPlace

    layout = platform_here()
    places = [
        AuthorityPlace(layout),
        *(AuthorityPlace(layout, site.name) for site in load_sites(layout)),
    ]
    rows = [
        {
            "authority": f"devices of {one.site}" if one.site else "root",
            "until": f"{one.signing().certificate.not_valid_after_utc:%Y-%m-%d}",
            "step": str(one.step()),
            "file": str(one.file),
        }
        for one in places
        if one.file.exists()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        change = "" if row["step"] == "none" else f", a new one has {row['step']}"
        print_line(f"{row['authority']}: until {row['until']}{change}, {row['file']}")


@app.command()
def begin(*, site: Site = None) -> None:
    """Make a new authority: both are trusted from now on, and the old one signs as before.

    Example: millrace authority begin --site plant-a
    """
    from millrace.secrets.io.succession import begin

    place = _place(site)
    begin(place)
    _hand_over(place, f"then '{_command('switch', site)}'")


@app.command()
def switch(*, site: Site = None) -> None:
    """Let the new authority sign. Whoever was not handed its certificate refuses what it signs."""
    from millrace.secrets.io.succession import switch

    place = _place(site)
    switch(place)
    _hand_over(place, f"then '{_command('end', site)}'")


@app.command()
def end(*, site: Site = None) -> None:
    """Trust the new authority alone: what the old one has signed is refused from now on."""
    from millrace.secrets.io.succession import end

    place = _place(site)
    end(place)
    _hand_over(place, "this was the last step")


def _place(site: str | None) -> AuthorityPlace:
    from millrace.secrets.io.succession import AuthorityPlace

    layout = platform_here()
    return AuthorityPlace(layout, find_site(layout, site).name if site else None)


def _command(step: str, site: str | None) -> str:
    return f"millrace authority {step}" + (f" --site {site}" if site else "")


def _hand_over(place: AuthorityPlace, then: str) -> None:
    """Gateways of this machine get it now; the rest is a person's work, and is printed."""
    from millrace.gateway.bundle.io.local_gateway import hand_over

    layout = platform_here()
    sites = [one for one in load_sites(layout) if place.site in (None, one.name)]
    for site in sites:
        hand_over(layout, site)
    print_line(f"{place.file} is written")
    chapter = "A new authority of a site's devices" if place.site else "A new root"
    print_line(f"next: docs/security.md, '{chapter}'; {then}")
