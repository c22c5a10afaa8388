"""`millrace site`: add, change, retire a site, renew its passwords, pack its gateway's bundle.

Engines are imported by the command that needs them: `millrace check` needs none.
"""

from __future__ import annotations

from typing import Annotated

import typer

from millrace.base.output import Json, print_json, print_line
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.site_changes.cli.site_table import list_rows, show_rows
from millrace.site_changes.core.site_request import SiteAction, SiteRequest, SiteRequestError
from millrace.sites.core.spec import ClientSettings
from millrace.sites.core.user_names import GATEWAY, SITE_USERS

app = typer.Typer(
    no_args_is_help=True,
    help="Add, change, retire a site; renew its passwords; pack its gateway's bundle.",
)
device_app = typer.Typer(
    no_args_is_help=True, help="Issue, list and revoke certificates of a site's devices."
)
app.add_typer(device_app, name="device")

_NOT_AGREED = 1

Name = Annotated[str, typer.Argument(metavar="SITE", help="As in dags/sites/<name>.yaml.")]
Device = Annotated[str, typer.Argument(metavar="DEVICE", help="What its certificate names it.")]
Description = Annotated[str | None, typer.Option(help="For people.")]
Client = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="A setting of the Kafka clients; may be repeated. 'KEY=' takes one away.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the plan.")]
Yes = Annotated[bool, typer.Option("--yes", help="Don't ask; do it at once.")]


@app.command()
def add(
    name: Name,
    *,
    bootstrap: Annotated[
        str, typer.Option(help="host:port of its Kafka cluster; several with commas.")
    ],
    description: Description = None,
    client: Client = None,
    local: Annotated[
        bool, typer.Option("--local", help="This machine runs the broker, from the next 'up' on.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Add a site: its users, topics and rights, then its file, then a bundle for its gateway.

    The cluster has to answer at the port after its bootstrap's, trust the CA var/pki/ca.pem,
    and have 'User:SITE-admin' among its super users. Pipelines of all sites read it from then on.

    Example: millrace site add plant-c --bootstrap kafka.plant-c.example:9093 --dry-run
    """
    request = SiteRequest(
        action=SiteAction.ADD,
        site=name,
        bootstrap=bootstrap,
        description=description,
        client=_settings(client),
        local=local,
    )
    _fulfil(request, dry_run=dry_run, yes=yes)


@app.command()
def change(
    name: Name,
    *,
    bootstrap: Annotated[
        str | None, typer.Option(help="Where the same cluster is to be reached now.")
    ] = None,
    description: Description = None,
    client: Client = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Change a site's file and leave its comments; jobs that read it start anew after their batch.

    A new address has to answer before anything is written. All other keys: edit the file.

    Example: millrace site change plant-a --client socket.keepalive.enable=true
    """
    request = SiteRequest(
        action=SiteAction.CHANGE,
        site=name,
        bootstrap=bootstrap,
        description=description,
        client=_settings(client),
    )
    _fulfil(request, dry_run=dry_run, yes=yes)


@app.command()
def retire(
    name: Name,
    *,
    keep_users: Annotated[
        bool,
        typer.Option("--keep-users", help="Leave its users and rights there: it is gone for good."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Retire a site: move its file to dags/sites/retired/, take our users and rights from there.

    Topics, data and rows stay. Refused while a pipeline names the site; those that read all sites
    go on without it. Cut short, run it again.
    """
    request = SiteRequest(action=SiteAction.RETIRE, site=name, keep_users=keep_users)
    _fulfil(request, dry_run=dry_run, yes=yes)


@app.command()
def rotate(
    name: Name,
    *,
    user: Annotated[
        list[str] | None,
        typer.Option(help=f"Whose password: {', '.join(SITE_USERS)}; may be repeated."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Give users of a site new passwords. Who is connected stays so; the old ones are refused then.

    Jobs and simulators of ours read the new one when they connect again; the gateway needs the new
    bundle. Cut short, run it again.

    Example: millrace site rotate plant-a --user gateway --user app
    """
    request = SiteRequest(action=SiteAction.ROTATE, site=name, users=tuple(user or ()))
    _fulfil(request, dry_run=dry_run, yes=yes)


@app.command("list")
def list_sites(*, as_json: Json = False) -> None:
    """Show all sites: who reads them, their users' passwords by age, their gateways' bundles."""
    rows = list_rows(platform_here())
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        show_rows(rows)


@app.command()
def bundle(name: Name) -> None:
    """Pack the bundle for a site's gateway again, and say where it is. It holds a password."""
    from millrace.gateway.bundle.io.pack_bundle import write_bundle
    from millrace.secrets.io.passwords import known_users

    layout = platform_here()
    site = find_site(layout, name)
    if GATEWAY not in known_users(layout, name):
        raise SiteRequestError(
            f"there is no password of user {GATEWAY!r} of site {name!r} here; 'millrace site rotate"
            f" {name} --user {GATEWAY}' makes one, 'millrace up' for a broker of this machine"
        )
    print_line(str(write_bundle(layout, site)))


@device_app.command("issue")
def issue_device(name: Name, device: Device) -> None:
    """Make a key and a certificate for a device, and say where they are; again, the same ones.

    Carry the file to the device by a way you trust; it begins with HELLO and its name.

    Example: millrace site device issue plant-a press-7
    """
    from millrace.secrets.io.device_certificates import issue

    layout = platform_here()
    print_line(str(issue(layout, find_site(layout, name).name, device)))


@device_app.command("list")
def list_devices(name: Name, *, as_json: Json = False) -> None:
    """Show whom a site's gateway lets in, and who was revoked."""
    from millrace.secrets.io.device_certificates import list_devices as devices_of

    layout = platform_here()
    rows = devices_of(layout, find_site(layout, name).name)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
        return
    for row in rows:
        until = f"until {row.expires:%Y-%m-%d}" if row.expires else f"revoked {row.revoked}"
        print_line(f"{row.name}  {until}  {row.fingerprint}")


@device_app.command("revoke")
def revoke_device(
    name: Name,
    device: Device,
    *,
    fingerprint: Annotated[
        str, typer.Option(help="SHA-256 of a certificate that is not on this machine.")
    ] = "",
) -> None:
    """Let a device in no more: its gateway here cuts it off within two seconds.

    A gateway elsewhere does so as soon as it has the list: copy the printed file to its
    /etc/millrace/revoked.txt, or install the next bundle.
    """
    from millrace.gateway.bundle.io.local_gateway import hand_over
    from millrace.secrets.io.device_certificates import revoke

    layout = platform_here()
    site = find_site(layout, name)
    gone = revoke(layout, site.name, device, fingerprint)
    hand_over(layout, site)
    print_line(f"{device} is revoked ({gone.fingerprint}); the list: {layout.revoked(site.name)}")


def _fulfil(request: SiteRequest, *, dry_run: bool, yes: bool) -> None:
    from millrace.site_changes.io.change_run import carry_out, plan_change

    layout = platform_here()
    for line in plan_change(layout, request.model_copy(update={"dry_run": True})).lines:
        print_line(line)
    if dry_run:
        return
    typed = request.site if yes else _asked(request)
    if request.action is SiteAction.RETIRE:
        request = request.model_copy(update={"typed": typed})
    made = carry_out(layout, plan_change(layout, request), print_line)
    if made:
        print_line(f"bundle for the gateway (holds its password): {made}")


def _asked(request: SiteRequest) -> str:
    """A person's yes: for what is hard to undo, the site's name."""
    if request.action is SiteAction.RETIRE:
        return str(typer.prompt(f"To retire site {request.site}, type its name"))
    if not typer.confirm("Do this?"):
        print_line("nothing was changed")
        raise typer.Exit(_NOT_AGREED)
    return ""


def _settings(given: list[str] | None) -> ClientSettings:
    pairs = [text.partition("=") for text in given or ()]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise SiteRequestError(f"--client {key}: write KEY=VALUE, or KEY= to take it away")
    return {key: value for key, _, value in pairs}
