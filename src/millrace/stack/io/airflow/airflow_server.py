"""Airflow on this machine: its files, its database's schema, its four components."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from importlib.metadata import version

from millrace.base.addresses import LOCAL_NAMES
from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.processes.io.log_tail import last_lines
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.settings.core.task_pool import POOL
from millrace.stack.core.airflow_config import (
    AIRFLOW,
    API_SERVER,
    USER,
    AirflowSecrets,
    render_airflow_config,
)
from millrace.stack.io import answers
from millrace.stack.io.airflow import postgres
from millrace.stack.io.airflow.airflow_connections import write_connections
from millrace.storage.io.files import read_text, write_atomic

COMPONENTS = {
    API_SERVER: ("api-server",),
    "airflow-scheduler": ("scheduler", "--skip-serve-logs"),
    "airflow-dag-processor": ("dag-processor",),
    "airflow-triggerer": ("triggerer", "--skip-serve-logs"),
}


def prepare_airflow(layout: Platform, port: int) -> list[Program]:
    """Write what the components read; they are started once their database is there."""
    password = _ensure_password(layout)
    write_atomic(layout.airflow / "passwords.json", json.dumps({USER: password}))
    databases = {
        "sql_alchemy_conn": postgres.url(layout, "psycopg2"),
        "sql_alchemy_conn_async": postgres.url(layout, "asyncpg"),
    }
    write_connections(layout)
    text = render_airflow_config(layout, port, _ensure_secrets(layout), databases)
    write_atomic(layout.airflow / "airflow.cfg", text)
    return [_program(name, words, layout, port) for name, words in COMPONENTS.items()]


def prepare_certificate(layout: Platform) -> None:
    """People reach it at this machine, its own parts by its name."""
    hosts = sorted({*layout.own_hosts(API_SERVER), *LOCAL_NAMES})
    chain, _ = ensure_server_certificate(layout, AIRFLOW, hosts)
    write_atomic(layout.airflow_chain, chain.read_text())


def migrate(layout: Platform, environment: Mapping[str, str]) -> None:
    """Bring the database to this version's schema; a stamp beside it says when that is done."""
    stamp = layout.postgres / "airflow-version"
    wanted = f"{version('apache-airflow')} with {POOL}"
    if read_text(stamp) == wanted:
        return
    _run(("db", "migrate"), layout, environment)
    # Spark jobs beside the streaming ones: what one machine has room for.
    _run(("pools", "set", POOL, "1", "Spark jobs that end"), layout, environment)
    write_atomic(stamp, wanted)


def _run(words: tuple[str, ...], layout: Platform, environment: Mapping[str, str]) -> None:
    log = layout.logs / "airflow-migrate.log"
    with log.open("a") as output:
        code = subprocess.run(
            (str(layout.control_bin / "airflow"), *words),
            env={**environment, **_environment(layout)},
            cwd=layout.home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code:
        last = "\n".join(last_lines(log, 20))
        command = " ".join(("airflow", *words))
        raise MillraceError(f"{command} failed with exit code {code} ({log}):\n{last}")


def is_healthy(component: str, layout: Platform, port: int) -> bool:
    """What Airflow says of one of its components; of the api-server, that it says anything."""
    parts = answers.ask(health_url(layout, port), layout.ca)
    return answers.is_healthy(parts, health_part(component))


def health_url(layout: Platform, port: int) -> str:
    return f"https://{layout.host(API_SERVER)}:{port}/api/v2/monitor/health"


def health_part(component: str) -> str:
    """Its name in that answer."""
    if component == API_SERVER:
        return "metadatabase"
    return component.removeprefix("airflow-").replace("-", "_")


def _program(name: str, words: tuple[str, ...], layout: Platform, port: int) -> Program:
    return Program(
        name=name,
        command=(str(layout.control_bin / "airflow"), *words),
        directory=layout.home,
        log=layout.logs / f"{name}.log",
        priority=20,
        environment=_environment(layout),
        port=port if name == API_SERVER else None,
        autostart=False,
    )


def _environment(layout: Platform) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(layout.airflow),
        "PYTHONPATH": str(layout.home),
        # Process titles are written over the environment, by which processes are found.
        "SPT_NOENV": "1",
        "NO_COLOR": "1",
    }


def _ensure_password(layout: Platform) -> str:
    password = read_text(layout.airflow_password)
    if not password:
        password = secrets.token_urlsafe(15)
        write_atomic(layout.airflow_password, password + "\n")
    return password.strip()


def _ensure_secrets(layout: Platform) -> AirflowSecrets:
    file = layout.airflow_secrets
    text = read_text(file)
    if text:
        return AirflowSecrets(**json.loads(text))
    made = AirflowSecrets(
        jwt=secrets.token_urlsafe(64),
        session=secrets.token_urlsafe(32),
        fernet=base64.urlsafe_b64encode(os.urandom(32)).decode(),
    )
    write_atomic(file, json.dumps(vars(made)))
    return made
