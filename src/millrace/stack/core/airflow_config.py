"""What Airflow is told, as the text of `airflow.cfg`: a pure function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from millrace.base.addresses import LOOPBACK
from millrace.settings.core.paths import Paths

USER = "admin"
API_SERVER, AIRFLOW = "airflow-api-server", "airflow"
BACKEND = "airflow.secrets.local_filesystem.LocalFilesystemBackend"


@dataclass(frozen=True)
class AirflowSecrets:
    """Made once; what they protect is lost with them."""

    jwt: str
    session: str
    fernet: str


def render_airflow_config(
    layout: Paths, port: int, secrets: AirflowSecrets, databases: Mapping[str, str]
) -> str:
    """`databases`: the `[database]` settings that say where Postgres is."""
    sections: dict[str, Mapping[str, object]] = {
        "core": _core(layout, secrets, port),
        "database": {**databases, "load_default_connections": False},
        "logging": {"base_log_folder": layout.airflow / "logs", "colored_console_log": False},
        "usage_data_collection": {"enabled": False},
        "secrets": _secrets(layout),
        "api": _api(layout, port, secrets),
        "api_auth": {"jwt_secret": secrets.jwt},
        "scheduler": {
            "enable_health_check": False,
            "scheduler_idle_sleep_time": 2,
            "scheduler_heartbeat_sec": 10,
            "job_heartbeat_sec": 10,
            # A task whose worker was killed; longer than an api-server takes to start.
            "task_instance_heartbeat_timeout": 120,
            # Tasks queued by a scheduler that died wait for it; Airflow's default is 300 s.
            "orphaned_tasks_check_interval": 30,
            "catchup_by_default": False,
        },
        "dag_processor": {
            "refresh_interval": 10,
            "bundle_refresh_check_interval": 10,
            "min_file_process_interval": 30,
            "parsing_processes": 1,
        },
        "triggerer": {"job_heartbeat_sec": 10},
    }
    return "\n".join(_section(name, values) for name, values in sections.items())


def _core(layout: Paths, secrets: AirflowSecrets, port: int) -> dict[str, object]:
    return {
        "dags_folder": layout.home / "dags",
        "plugins_folder": layout.home / "plugins",
        "executor": "millrace_airflow.base.executor.MortalExecutor",
        "parallelism": 4,
        "load_examples": False,
        "dags_are_paused_at_creation": True,
        "fernet_key": secrets.fernet,
        "simple_auth_manager_users": f"{USER}:admin",
        "simple_auth_manager_passwords_file": layout.airflow / "passwords.json",
        "execution_api_server_url": f"https://{layout.host(API_SERVER)}:{port}/execution/",
    }


def _secrets(layout: Paths) -> dict[str, object]:
    file = {"connections_file_path": str(layout.airflow_connections)}
    return {"backend": BACKEND, "backend_kwargs": json.dumps(file)}


def _api(layout: Paths, port: int, secrets: AirflowSecrets) -> dict[str, object]:
    return {
        "host": layout.listen,
        "port": port,
        # Where people reach it.
        "base_url": f"https://{LOOPBACK}:{port}",
        "workers": 1,
        "secret_key": secrets.session,
        # The chain ends with our CA, which is how tasks come to trust the server; the key is the
        # server's alone.
        "ssl_cert": layout.airflow_chain,
        "ssl_key": layout.pki / AIRFLOW / "key.pem",
        "client_use_public_certs": False,
        "expose_config": False,
    }


def _section(name: str, values: Mapping[str, object]) -> str:
    # configparser reads % as the start of a reference.
    lines = (f"{key} = {str(value).replace('%', '%%')}" for key, value in values.items())
    return "\n".join((f"[{name}]", *lines, ""))
