"""What the local stack consists of, read from the files of the checkout."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.gateway.spec.core.local_file import gateway_program
from millrace.kafka.core.broker_settings import FIRST, node_name, node_ports, nodes
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import load_events_site, load_pipelines, load_sites
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.processes.core.program import Program
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.relay_files import load_clusters, load_relays
from millrace.schemas.core.registry import NAME as REGISTRY
from millrace.settings.core.spark_cluster import MASTER
from millrace.sites.core.spec import SiteSpec
from millrace.stack.core.airflow_config import API_SERVER
from millrace.storage.core.store_server import NAME as STORE

RUNNER = "local"


@dataclass(frozen=True)
class StackPlan:
    layout: Platform
    airflow_port: int
    sites: tuple[SiteSpec, ...]
    pipelines: tuple[PipelineSpec, ...]
    # Of the object store on this machine; none: there is none here.
    store_port: int | None = None
    # Where relays bring things, and the relays; none: they were not asked for.
    clusters: tuple[SiteSpec, ...] = ()
    relays: tuple[RelaySpec, ...] = ()

    @classmethod
    def load(cls, settings: Settings) -> StackPlan:
        layout = settings.layout
        pipelines, sites = load_pipelines(layout), load_sites(layout)
        load_events_site(layout)
        clusters, relays = load_clusters(layout), load_relays(layout)
        return cls(
            layout,
            settings.airflow_port,
            tuple(sites),
            tuple(pipelines),
            settings.store_port,
            tuple(clusters) if settings.centre else (),
            tuple(relays) if settings.centre else (),
        )

    @property
    def local_sites(self) -> list[SiteSpec]:
        return [site for site in self.sites if site.local]

    @property
    def local_clusters(self) -> list[SiteSpec]:
        return [cluster for cluster in self.clusters if cluster.local]

    @property
    def brokered(self) -> list[SiteSpec]:
        """Whose brokers this machine runs."""
        return [*self.local_sites, *self.local_clusters]

    @property
    def local_pipelines(self) -> list[PipelineSpec]:
        return [pipeline for pipeline in self.pipelines if pipeline.runner == RUNNER]

    @property
    def airflow_url(self) -> str:
        return f"https://127.0.0.1:{self.airflow_port}"

    def ports(self) -> dict[str, int]:
        """By program, where clients reach it."""
        brokers = {
            broker_program(site, node): node_ports(site, node)[0]
            for site in self.brokered
            for node in nodes(site)
        }
        store = {STORE: self.store_port} if self.store_port else {}
        cluster = {MASTER: self.layout.cluster.port} if self.layout.cluster else {}
        gateways = {
            gateway_program(site.name): site.local.gateway.port
            for site in self.local_sites
            if site.local and site.local.gateway
        }
        registry = {REGISTRY: self.layout.registry.port} if self.layout.registry else {}
        edge = {**registry, **brokers, **gateways}
        return {**cluster, **store, **edge, API_SERVER: self.airflow_port}

    def simulators(self) -> list[Program]:
        return [
            _simulator(site, self.layout)
            for site in self.local_sites
            if site.local and site.local.simulator
        ]

    def relay_programs(self) -> list[Program]:
        return [relay_program(relay, self.layout) for relay in self.relays]


def broker_program(site: SiteSpec, node: int = FIRST) -> str:
    return f"kafka-{node_name(site, node)}"


def relay_program(relay: RelaySpec, layout: Platform) -> Program:
    name = f"relay-{relay.name}"
    return Program(
        name=name,
        command=(str(layout.control_bin / "millrace"), "relay", relay.name),
        directory=layout.home,
        log=layout.logs / f"{name}.log",
        priority=30,
        autostart=False,
    )


def _simulator(site: SiteSpec, layout: Platform) -> Program:
    name = f"simulator-{site.name}"
    return Program(
        name=name,
        command=(str(layout.control_bin / "millrace"), "simulate", site.name),
        directory=layout.home,
        log=layout.logs / f"{name}.log",
        priority=30,
        autostart=False,
    )
