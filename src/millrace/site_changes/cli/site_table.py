"""`millrace site list`: what there is, for people and for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from millrace.base.model import Frozen
from millrace.gateway.bundle.io.pack_bundle import bundle_file
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import known_users
from millrace.sites.core.spec import SiteSpec


class SiteRow(Frozen):
    name: str
    bootstrap: str
    description: str
    local: bool
    pipelines: tuple[str, ...]
    # Since when each user's password is in force.
    users: dict[str, datetime]
    bundle: Path | None


def list_rows(layout: Platform) -> list[SiteRow]:
    pipelines = load_pipelines(layout)
    return [
        _row(layout, site, tuple(one.name for one in pipelines if one.reads(site.name)))
        for site in load_sites(layout)
    ]


def _row(layout: Platform, site: SiteSpec, pipelines: tuple[str, ...]) -> SiteRow:
    secrets = {user: layout.user_secret(site.name, user) for user in known_users(layout, site.name)}
    bundle = bundle_file(layout, site.name)
    return SiteRow(
        name=site.name,
        bootstrap=site.bootstrap,
        description=site.description,
        local=site.local is not None,
        pipelines=pipelines,
        users={user: _written_at(file) for user, file in secrets.items()},
        bundle=bundle if bundle.exists() else None,
    )


def _written_at(file: Path) -> datetime:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC)


def show_rows(rows: list[SiteRow]) -> None:
    console = Console(highlight=False)
    table = Table("site", "bootstrap", "read by", "passwords since")
    for row in rows:
        passwords = [f"{user} {at:%Y-%m-%d}" for user, at in row.users.items()]
        where = f"{row.bootstrap}\non this machine" if row.local else row.bootstrap
        read_by = ", ".join(row.pipelines) or "-"
        table.add_row(row.name, where, read_by, "\n".join(passwords) or "-")
    console.print(table)
    for row in rows:
        if row.bundle:
            console.print(f"bundle for the gateway of {row.name}: {row.bundle}", soft_wrap=True)
