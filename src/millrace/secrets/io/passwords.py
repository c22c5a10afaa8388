"""Users' passwords: made once, kept in files that only their owner may read."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.kafka.core.kafka_client import as_properties, jaas_line
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import make_private, read_text, write_new


@dataclass(frozen=True)
class Credentials:
    """A site's user. The password stays out of every repr, and so out of logs."""

    username: str
    password: str = field(repr=False)


class NoCredentialsError(MillraceError):
    """A user whose password nobody here knows."""

    def __init__(self, site: str, user: str, file: Path, problem: str) -> None:
        super().__init__(f"user {user!r} of site {site!r}: {file} {problem}")


def ensure_user(layout: Paths, site: str, user: str) -> Credentials:
    """The user's credentials; made when there are none, and never made again."""
    file = layout.user_secret(site, user)
    _make_where_missing(layout, file, user)
    return _read(layout, file, site, user)


def draft_password(layout: Paths, site: str, user: str) -> Credentials:
    """The user's next password; the same again until `take_up`."""
    draft = layout.next_secret(site, user)
    _make_where_missing(layout, draft, user)
    return _read(layout, draft, site, user)


def take_up(layout: Paths, site: str, user: str) -> None:
    """From here on the drafted password is the user's."""
    layout.next_secret(site, user).replace(layout.user_secret(site, user))


def forget_users(layout: Paths, site: str) -> None:
    for file in layout.secrets.glob(f"*/{site}.*"):
        file.unlink()


def read_user(layout: Paths, site: str, user: str) -> Credentials:
    return _read(layout, layout.user_secret(site, user), site, user)


def known_users(layout: Paths, site: str) -> list[str]:
    """Who has a password here."""
    return sorted(file.parent.name for file in layout.secrets.glob(f"*/{site}.properties"))


def _make_where_missing(layout: Paths, file: Path, user: str) -> None:
    make_private(layout.secrets, file.parent)
    if not file.exists():
        write_new(file, _as_text(Credentials(user, secrets.token_urlsafe(24))))


def _read(layout: Paths, file: Path, site: str, user: str) -> Credentials:
    text = read_text(file)
    if text is None:
        known = ", ".join(known_users(layout, site)) or "none"
        problem = f"is not there (users with a password here: {known}); run 'millrace up' first"
        raise NoCredentialsError(site, user, file, problem)
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if not values.get("username") or not values.get("password"):
        problem = "lacks username or password; delete it, run 'millrace up' to have it made anew"
        raise NoCredentialsError(site, user, file, problem)
    return Credentials(values["username"], values["password"])


def _as_text(user: Credentials) -> str:
    jaas = jaas_line(user.username, user.password)
    values = {"username": user.username, "password": user.password, "jaas": jaas}
    return as_properties(values) + "\n"
