"""What the local stack consists of, read from the files of the checkout."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.core.cluster import MASTER
from millrace.core.layout import Layout
from millrace.core.object_store import NAME as STORE
from millrace.core.pipeline import PipelineSpec
from millrace.core.site import SiteSpec
from millrace.local.airflow import API_SERVER
from millrace.local.program import Program
from millrace.settings import Settings
from millrace.specs.loader import load_events_site, load_pipelines, load_sites

RUNNER = "local"


@dataclass(frozen=True)
class StackPlan:
    layout: Layout
    airflow_port: int
    sites: tuple[SiteSpec, ...]
    pipelines: tuple[PipelineSpec, ...]
    # Of the object store on this machine; none: there is none here.
    store_port: int | None = None

    @classmethod
    def load(cls, settings: Settings) -> StackPlan:
        layout = settings.layout
        pipelines, sites = load_pipelines(layout), load_sites(layout)
        load_events_site(layout)
        return cls(
            layout, settings.airflow_port, tuple(sites), tuple(pipelines), settings.store_port
        )

    @property
    def local_sites(self) -> list[SiteSpec]:
        return [site for site in self.sites if site.local]

    @property
    def local_pipelines(self) -> list[PipelineSpec]:
        return [pipeline for pipeline in self.pipelines if pipeline.runner == RUNNER]

    @property
    def airflow_url(self) -> str:
        return f"https://127.0.0.1:{self.airflow_port}"

    def ports(self) -> dict[str, int]:
        """By program, where clients reach it."""
        brokers = {broker_program(site): site.port for site in self.local_sites}
        store = {STORE: self.store_port} if self.store_port else {}
        cluster = {MASTER: self.layout.cluster.port} if self.layout.cluster else {}
        return {**cluster, **store, **brokers, API_SERVER: self.airflow_port}

    def simulators(self) -> list[Program]:
        return [
            _simulator(site, self.layout)
            for site in self.local_sites
            if site.local and site.local.simulator
        ]


def broker_program(site: SiteSpec) -> str:
    return f"kafka-{site.name}"


def _simulator(site: SiteSpec, layout: Layout) -> Program:
    name = f"simulator-{site.name}"
    return Program(
        name=name,
        command=(str(layout.control_bin / "millrace"), "simulate", site.name),
        directory=layout.home,
        log=layout.logs / f"{name}.log",
        priority=30,
        autostart=False,
    )
