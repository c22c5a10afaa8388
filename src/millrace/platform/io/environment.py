"""The one reader of the environment: where the checkout is, and the local stack's own settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.base.names import Name
from millrace.platform.core.platform import Platform
from millrace.schemas.core.registry import NAME as REGISTRY
from millrace.schemas.core.registry import Registry
from millrace.settings.core.engine import EngineParts
from millrace.settings.core.history import HISTORY, History
from millrace.settings.core.metrics import Metrics
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.settings.core.remotes import (
    EmrServerlessSettings,
    KubernetesSettings,
    Remotes,
    RemoteSettings,
)
from millrace.settings.core.spark_cluster import PORTS_NEEDED as CLUSTER_PORTS
from millrace.settings.core.spark_cluster import Cluster
from millrace.settings.core.task_pool import POOL
from millrace.sites.core.central import Central
from millrace.specs.spec_files import load_file
from millrace.storage.core.bucket import LOCAL_BUCKET, Bucket, RemoteStore, StoreKind, remote_bucket
from millrace.storage.core.store_server import NAME as STORE
from millrace.storage.core.store_server import PORTS_NEEDED
from millrace.storage.io.files import read_text, write_atomic

Remote = TypeVar("Remote", bound=RemoteSettings)
_ON = "on"
RunnerKind = Literal["local", "standalone"]


class LocalSettings(Frozen):
    """What stands in `infra/local.yaml`."""

    airflow_port: Annotated[int, Field(ge=1, le=65_535)] = 8080
    # Where tables and checkpoints are kept, until `up --store` says otherwise.
    store: StoreKind | RemoteStore = "folder"
    # Of the object store on this machine; the ports after it are its own parts'.
    store_port: Annotated[int, Field(ge=1, le=65_535 - PORTS_NEEDED)] = 8333

    # Where Spark's work is done, until `up --runner` says otherwise.
    runner: RunnerKind = "local"
    # Of the Spark cluster on this machine; the ports after it are its workers'.
    cluster_port: Annotated[int, Field(ge=1, le=65_535 - CLUSTER_PORTS)] = 7077

    # Whether a schema registry runs too, until `up --registry` says otherwise.
    registry: bool = False
    # Where it listens.
    registry_port: Annotated[int, Field(ge=1, le=65_535)] = 8081

    # What jobs read topics and write tables with.
    engine: EngineParts = EngineParts()

    # Where pipelines with `runner: emr-serverless` or `runner: kubernetes` have their jobs.
    emr_serverless: EmrServerlessSettings | None = None
    kubernetes: KubernetesSettings | None = None

    # The cluster where jobs read all sites' topics; none: they read at each site.
    central: Central | None = None
    # Where jobs tell how they do, for alarms; none: in heartbeats alone.
    metrics: Metrics | None = None

    # Airflow's pool of tasks; where they run elsewhere, one that need not be made.
    task_pool: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,250}$")] = POOL

    # How long Airflow remembers runs, and their logs are kept.
    history: History = HISTORY

    # Whether each program has a machine or a container of its own, which has the program's name.
    apart: bool = False

    # Whether clusters and relays run too, until `up --centre` says otherwise.
    centre: bool = False

    # The site whose cluster carries platform events; without one there are no incidents.
    events_site: Name | None = None
    # A file (0600) whose one line is the address that incidents are posted to.
    webhook_file: Path | None = None

    @property
    def default_kind(self) -> StoreKind:
        return self.store.kind if isinstance(self.store, RemoteStore) else self.store


@dataclass(frozen=True)
class Settings:
    layout: Platform
    local: LocalSettings

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        named = env.get(HOME_VARIABLE)
        home = Path(named).resolve() if named else _home_of_this_code()
        if not (home / "dags" / "pipelines").is_dir():
            raise MillraceError(
                f"{home} is not a Millrace checkout: it has no dags/pipelines;"
                f" set {HOME_VARIABLE} to the folder you cloned"
            )
        file = Platform(home).local_settings
        local = load_file(file, LocalSettings) if file.exists() else LocalSettings()
        layout = Platform(home, apart=local.apart)
        bucket, cluster = _bucket(layout, local), _cluster(layout, local)
        remotes = Remotes(
            emr_serverless=_from_home(local.emr_serverless, layout),
            kubernetes=_from_home(local.kubernetes, layout),
        )
        return cls(
            replace(
                layout,
                bucket=bucket,
                cluster=cluster,
                registry=_registry(layout, local),
                remotes=remotes,
                engine=local.engine,
                central=local.central,
                metrics=local.metrics,
                task_pool=local.task_pool,
                history=local.history,
                events_site=local.events_site,
                webhook_file=home / local.webhook_file if local.webhook_file else None,
            ),
            local,
        )

    @property
    def airflow_port(self) -> int:
        return self.local.airflow_port

    @property
    def store_port(self) -> int | None:
        """None where no object store runs on this machine."""
        is_ours = self.layout.bucket and not isinstance(self.local.store, RemoteStore)
        return self.local.store_port if is_ours else None

    @property
    def centre(self) -> bool:
        """Whether clusters and relays are part of the local stack."""
        chosen = read_text(self.layout.centre_choice)
        return self.local.centre if chosen is None else chosen.strip() == "on"

    def choose_centre(self, *, on: bool) -> None:
        """For this and every later command, until another is chosen."""
        write_atomic(self.layout.centre_choice, "on\n" if on else "off\n")

    def choose_store(self, kind: StoreKind) -> Settings:
        """For this and every later command, until another is chosen."""
        write_atomic(self.layout.store_choice, kind + "\n")
        layout = replace(self.layout, bucket=_bucket(self.layout, self.local))
        return replace(self, layout=layout)

    def choose_runner(self, kind: RunnerKind) -> Settings:
        """For this and every later command, until another is chosen."""
        write_atomic(self.layout.runner_choice, kind + "\n")
        return replace(self, layout=replace(self.layout, cluster=_cluster(self.layout, self.local)))

    def choose_registry(self, *, wanted: bool) -> Settings:
        """For this and every later command, until the other is chosen."""
        write_atomic(self.layout.registry_choice, f"{_ON if wanted else 'off'}\n")
        layout = replace(self.layout, registry=_registry(self.layout, self.local))
        return replace(self, layout=layout)


def _registry(layout: Platform, local: LocalSettings) -> Registry | None:
    chosen = read_text(layout.registry_choice)
    is_on = local.registry if chosen is None else chosen.strip() == _ON
    return Registry(port=local.registry_port, host=layout.host(REGISTRY)) if is_on else None


def _cluster(layout: Platform, local: LocalSettings) -> Cluster | None:
    chosen = (read_text(layout.runner_choice) or local.runner).strip()
    if chosen == "local":
        return None
    return Cluster(port=local.cluster_port, secret_file=layout.cluster_secret, apart=layout.apart)


def _bucket(layout: Platform, local: LocalSettings) -> Bucket | None:
    chosen = (read_text(layout.store_choice) or local.default_kind).strip()
    if chosen == "folder":
        return None
    if isinstance(local.store, RemoteStore):
        return remote_bucket(local.store, layout.home, layout.trust_store)
    return Bucket(
        name=LOCAL_BUCKET,
        endpoint=f"https://{layout.host(STORE)}:{local.store_port}",
        credentials_file=layout.object_store_credentials,
        ca_file=layout.ca,
        trust_store=layout.trust_store,
    )


def _from_home(settings: Remote | None, layout: Platform) -> Remote | None:
    """Relative paths start from the checkout, but for `home`, which is elsewhere."""
    if settings is None:
        return None
    written = ((key, getattr(settings, key)) for key in settings.model_fields_set - {"home"})
    paths = {key: layout.home / value for key, value in written if isinstance(value, Path)}
    return settings.model_copy(update=paths)


def platform_here() -> Platform:
    """Of the checkout that this process's environment names, or that holds this code."""
    return Settings.from_env(os.environ).layout


def _home_of_this_code() -> Path:
    return Path(__file__).resolve().parents[4]
