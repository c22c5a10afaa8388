"""All files that the stack's programs read, and the programs; done again, it changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from millrace.gateway.bundle.io.local_gateway import prepare_gateway, prepare_simulator
from millrace.gateway.spec.core.local_file import local_gateway
from millrace.processes.core.program import Program
from millrace.schemas.io.local_registry import prepare_registry
from millrace.secrets.io.pki import ensure_administrator, ensure_authority
from millrace.sites.core.simulation import Simulator
from millrace.stack.io.airflow import airflow_server, postgres
from millrace.stack.io.brokers.local_broker import prepare_brokers
from millrace.stack.io.local_cluster import prepare_cluster
from millrace.stack.io.object_store import ensure_trust_store, prepare_object_store
from millrace.stack.io.stack_plan import StackPlan
from millrace.storage.io.files import make_private

Task = Callable[[], list[Program]]
AllOf = Callable[[Sequence[Task]], list[list[Program]]]


@dataclass(frozen=True)
class Prepared:
    """`components`: Airflow's, which start once their database is there."""

    others: tuple[Program, ...]
    components: tuple[Program, ...]

    @property
    def programs(self) -> tuple[Program, ...]:
        return (*self.others, *self.components)


def prepare(plan: StackPlan, environment: Mapping[str, str], all_of: AllOf) -> Prepared:
    """`all_of` runs what takes long, side by side if it can."""
    layout = plan.layout
    for folder in (layout.run, layout.logs, layout.jobs, layout.airflow):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ensure_authority(layout)  # once, before many ask for certificates at a time
    for site in plan.sites:
        if not site.local and layout.certificate(site.name, "admin").exists():
            ensure_administrator(layout, site)
    make_private(layout.secrets, layout.airflow_secrets.parent)
    airflow_server.prepare_certificate(layout)
    store = _prepare_store(plan)
    components = airflow_server.prepare_airflow(layout, plan.airflow_port)
    tasks: list[Task] = [lambda: [postgres.prepare_postgres(layout, environment)]]
    tasks += [partial(prepare_brokers, site, layout) for site in plan.brokered]
    stores = chain.from_iterable(all_of(tasks))
    cluster = prepare_cluster(layout, layout.cluster) if layout.cluster else []
    registry = [prepare_registry(layout, layout.registry)] if layout.registry else []
    simulated = [site for site in plan.local_sites if site.local and site.local.simulator]
    for site in simulated:
        prepare_simulator(layout, site)
    late = [*_prepare_gateways(plan), *plan.simulators(), *plan.relay_programs()]
    return Prepared((*store, *cluster, *registry, *stores, *late), tuple(components))


def _prepare_store(plan: StackPlan) -> list[Program]:
    bucket, port = plan.layout.bucket, plan.store_port
    if bucket:
        ensure_trust_store(bucket)
    return [prepare_object_store(plan.layout, bucket, port)] if bucket and port else []


def _prepare_gateways(plan: StackPlan) -> list[Program]:
    listen = plan.layout.listen
    return [
        prepare_gateway(
            plan.layout,
            site,
            local_gateway(
                site.name, site.local.gateway, site.local.simulator or Simulator(), listen
            ),
        )
        for site in plan.local_sites
        if site.local and site.local.gateway
    ]
