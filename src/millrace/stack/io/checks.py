"""Before anything is started: can it run here? Each error names what is wrong and the way out."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

from millrace.base.errors import MillraceError
from millrace.kafka.core.broker_settings import node_ports, nodes
from millrace.platform.core.platform import Platform
from millrace.settings.core.spark_cluster import PORTS_NEEDED as CLUSTER_PORTS
from millrace.stack.install.machine import Unfit, check_disk, check_java
from millrace.stack.io.earlier_places import move_in
from millrace.stack.io.stack_plan import StackPlan
from millrace.storage.core.store_server import PORTS_NEEDED
from millrace.storage.io.files import read_text, write_atomic

VAR_VERSION = "1"
# Unix sockets have short names, and supervisord binds to `<socket>.<pid>` first.
_SOCKET_LIMIT = 92
_PLAIN_PATH = re.compile(r"[\w./@+,=~-]+")
_OUT = "'make reset' deletes var/ and starts anew"


class UnfitMachineError(MillraceError):
    """The stack cannot run here as things are."""


@dataclass(frozen=True)
class Port:
    number: int
    owner: str
    setting: str


def check_machine(layout: Platform) -> None:
    """Again, although the installation did: what was installed then may be gone now."""
    try:
        check_java()
        check_disk(layout.home)
    except Unfit as error:
        raise UnfitMachineError(str(error)) from error


def check_path(layout: Platform) -> None:
    if not _PLAIN_PATH.fullmatch(str(layout.home)):
        raise UnfitMachineError(
            f"{layout.home} holds characters that Airflow's and Kafka's settings cannot carry;"
            " move the checkout to a path of letters, digits and . _ - only"
        )
    longest = max(len(str(layout.supervisor_socket)), len(str(layout.postgres_socket)) + 16)
    if longest > _SOCKET_LIMIT:
        raise UnfitMachineError(
            f"{layout.home} is {longest - _SOCKET_LIMIT} characters too long"
            " for unix sockets below it; move the checkout to a shorter path"
        )


def open_var(layout: Platform) -> None:
    """Make `var`, or see that it is one of ours and whole."""
    try:
        layout.var.mkdir(mode=0o700, exist_ok=True)
        layout.var.chmod(0o700)
        version = read_text(layout.var_version)
        if version is None:
            write_atomic(layout.var_version, VAR_VERSION + "\n")
    except OSError as error:
        what = "is not a folder" if isinstance(error, FileExistsError) else "cannot be used"
        problem = f"{layout.var} {what} ({error.strerror or error})"
        raise UnfitMachineError(
            f"{problem}; give it back its owner and rights, or {_OUT}"
        ) from error
    if version is not None and version.strip() != VAR_VERSION:
        raise UnfitMachineError(
            f"{layout.var} was made by another version of Millrace (its format is"
            f" {version.strip()!r}, this one's {VAR_VERSION!r}); go back to that version, or {_OUT}"
        )
    move_in(layout)
    _check_whole(layout)


def _check_whole(layout: Platform) -> None:
    """Data without the keys that were made with it is of no use."""
    needs: list[tuple[Path, Path]] = [
        (layout.postgres / "data", layout.postgres_password),
        (layout.postgres / "data", layout.airflow_secrets),
    ]
    brokers = sorted((layout.var / "kafka").glob("*/data"))
    # Not the authority: whoever deletes that wants a new one.
    needs += [(broker, layout.secrets) for broker in brokers]
    needs.append((layout.object_store / "data", layout.object_store_credentials))
    for data, key in needs:
        if data.exists() and not key.exists():
            raise UnfitMachineError(f"{data} is there, but {key}, made with it, is gone; {_OUT}")


def check_ports(plan: StackPlan) -> None:
    for port in _ports(plan):
        if _is_taken(port.number):
            raise UnfitMachineError(
                f"port {port.number}, wanted for {port.owner}, is taken by"
                f" {_listener(port.number)}; end that, or choose another port: {port.setting}"
            )


def _ports(plan: StackPlan) -> list[Port]:
    ports = [Port(plan.airflow_port, "Airflow", f"airflow_port in {plan.layout.local_settings}")]
    for site in plan.brokered:
        is_cluster = site in plan.local_clusters
        file = (plan.layout.clusters if is_cluster else plan.layout.sites) / f"{site.name}.yaml"
        setting = f"bootstrap in {file} (the two ports after it are used too)"
        numbers = [port for node in nodes(site) for port in node_ports(site, node)]
        ports += [Port(number, f"the broker of {site.name}", setting) for number in numbers]
        if site.local and site.local.gateway:
            first = site.local.gateway.port
            setting = f"local.gateway.port in {file} (the port after it is used too)"
            gateway = f"the gateway of {site.name}"
            ports += [Port(number, gateway, setting) for number in (first, first + 1)]
    if plan.store_port:
        setting = (
            f"store_port in {plan.layout.local_settings} (the seven ports after it are used too)"
        )
        own = range(plan.store_port, plan.store_port + PORTS_NEEDED)
        ports += [Port(number, "the object store", setting) for number in own]
    registry = plan.layout.registry
    if registry:
        setting = f"registry_port in {plan.layout.local_settings}"
        ports.append(Port(registry.port, "the schema registry", setting))
    return ports + _cluster_ports(plan.layout)


def _cluster_ports(layout: Platform) -> list[Port]:
    if layout.cluster is None:
        return []
    first = layout.cluster.port
    setting = f"cluster_port in {layout.local_settings} (the eight ports after it are used too)"
    own = range(first, first + CLUSTER_PORTS)
    return [Port(number, "the Spark cluster", setting) for number in own]


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: what a closed connection left behind is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _listener(port: int) -> str:
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.pid
            if listens and tuple(connection.laddr)[1] == port:
                name = psutil.Process(connection.pid).name()
                return f"process {connection.pid} ({name})"
    except psutil.Error:
        pass
    hint = "sudo lsof" if os.geteuid() else "lsof"
    return f"a process that cannot be seen from here ('{hint} -i :{port}' shows it)"
