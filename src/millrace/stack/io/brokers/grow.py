"""One more broker for a cluster of this machine, while the others work."""

from __future__ import annotations

import time
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.kafka.io.client_errors import UnreachableError
from millrace.platform.core.platform import Platform
from millrace.processes.core.supervisor_config import render_program
from millrace.processes.io.supervisor import Supervisor
from millrace.relay.io.relay_files import load_clusters
from millrace.sites.core.spec import SiteSpec
from millrace.sites.io.site_files import with_brokers
from millrace.stack.io.brokers.local_broker import prepare_broker
from millrace.stack.io.brokers.move_partitions import Rebalance
from millrace.stack.io.exclusive import only_one_at_work
from millrace.storage.io.files import write_atomic

_WITHIN_S = 120.0
_POLL_S = 0.5


def add_broker(layout: Platform, cluster: SiteSpec) -> int:
    """Its number. First it works, then the file says so: cut short, it is done again."""
    if cluster.local is None:
        raise MillraceError(
            f"this machine does not run the brokers of cluster {cluster.name!r}; add one where they"
            f" run, then 'millrace cluster rebalance {cluster.name}'"
        )
    larger = cluster.local.model_copy(update={"brokers": cluster.brokers + 1})
    wanted = cluster.model_copy(update={"local": larger})
    with only_one_at_work(layout, "cluster add-broker"):
        _start(wanted, layout)
        _await(wanted, layout)
        file = layout.clusters / f"{cluster.name}.yaml"
        write_atomic(file, with_brokers(file.read_text(), wanted.brokers), mode=0o644)
    load_clusters(layout)
    return wanted.brokers


def forget_added(layout: Platform) -> None:
    """Of an `up` before this one, whose own file has them now."""
    for file in layout.run.glob("added-*.conf"):
        file.unlink()


def _start(cluster: SiteSpec, layout: Platform) -> None:
    program = prepare_broker(cluster, layout, cluster.brokers)
    write_atomic(_section_file(layout, program.name), render_program(program))
    supervisor = Supervisor(layout.supervisor_socket)
    supervisor.load(program.name, changed=False)
    supervisor.start(program.name)


def _section_file(layout: Platform, name: str) -> Path:
    """Until the next `up`, whose own file has it."""
    return layout.run / f"added-{name}.conf"


def _await(cluster: SiteSpec, layout: Platform) -> None:
    rebalance = Rebalance(cluster, layout)
    deadline = time.monotonic() + _WITHIN_S
    while not _has(rebalance, cluster.brokers):
        if time.monotonic() > deadline:
            log = layout.logs / f"kafka-{cluster.name}-{cluster.brokers}.log"
            raise MillraceError(
                f"broker {cluster.brokers} of cluster {cluster.name!r} did not join it within"
                f" {_WITHIN_S:.0f} s; see {log}"
            )
        time.sleep(_POLL_S)


def _has(rebalance: Rebalance, broker: int) -> bool:
    try:
        return broker in rebalance.brokers()
    except UnreachableError:
        return False
