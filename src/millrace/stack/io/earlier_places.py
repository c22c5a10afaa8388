"""Keys and passwords where they lie now, of a `var` that was made before each program had its own.

Passwords are the brokers', so they have to stay what they are. Certificates are made anew; what is
left of old ones, which were good for anything, goes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from millrace.schemas.core.registry import User
from millrace.settings.core.paths import Paths
from millrace.sites.core.user_names import PLATFORM, SITE_USERS
from millrace.storage.io.files import make_private

_USERS = {*SITE_USERS, PLATFORM, *User}
_REPLACED = ("broker.pem", "device.pem")


def move_in(layout: Paths) -> None:
    """Done again, or where there is nothing to move, it does nothing."""
    for old, new in _moves(layout):
        if old.exists() and not new.exists():
            make_private(new.parent.parent, new.parent)
            # They may be on volumes of their own.
            shutil.move(old, new)
    # It is written anew with each start, elsewhere.
    (layout.secrets / "airflow-connections.json").unlink(missing_ok=True)
    for file in layout.pki.glob("*/*.pem"):
        if file.name in _REPLACED:
            file.unlink()


def _moves(layout: Paths) -> Iterator[tuple[Path, Path]]:
    for file in sorted(layout.secrets.glob("*/*.*")):
        user, site = file.stem, file.parent.name
        if user in _USERS and site not in _USERS:
            yield file, layout.user_secret(site, user).with_suffix(file.suffix)
    yield layout.secrets / "spark.properties", layout.cluster_secret
    yield layout.secrets / "airflow-password.txt", layout.airflow_password
    yield layout.secrets / "airflow.json", layout.airflow_secrets
    yield layout.secrets / "postgres.pgpass", layout.postgres_password
    for owner in ("admin", "gateway"):
        for file in sorted(layout.pki.glob(f"*/{owner}.pem")):
            yield file, layout.certificate(file.parent.name, owner)
