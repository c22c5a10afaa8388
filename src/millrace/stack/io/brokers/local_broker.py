"""A site's broker on this machine: its files, its storage, its process."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from millrace.base.addresses import LOCAL_NAMES
from millrace.base.errors import MillraceError
from millrace.kafka.core.broker_settings import (
    FIRST,
    admin_name,
    broker_name,
    broker_settings,
    node_host,
    node_name,
    node_ports,
    nodes,
    quorum,
)
from millrace.kafka.core.kafka_client import as_properties
from millrace.processes.core.program import Program
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_certificate
from millrace.settings.core.paths import Paths
from millrace.sites.core.spec import SiteSpec
from millrace.storage.io.files import make_private, write_atomic
from millrace.storage.io.properties import read_properties

_FORMAT_TIMEOUT_S = 120


class BrokerStorageError(MillraceError):
    """The broker's storage cannot be made ready."""


def prepare_broker(site: SiteSpec, layout: Paths, node: int = FIRST) -> Program:
    """Everything up to the start of the process; done again, it changes nothing."""
    folder = layout.broker(node_name(site, node))
    make_private(folder)
    own, admin = layout.broker_certificate(folder.name), layout.certificate(site.name, "admin")
    hosts = (node_host(site, node),) if layout.apart else LOCAL_NAMES
    ensure_certificate(layout, own, broker_name(site), Role.PEER, hosts)
    ensure_certificate(layout, admin, admin_name(site), Role.CLIENT)
    properties = folder / "server.properties"
    _refuse_other_controllers(site, properties)
    write_atomic(properties, as_properties(broker_settings(site, layout, node)) + "\n")
    if not (folder / "data").exists():
        _format_storage(site, layout, node)
    return _program(site, layout, node)


def prepare_brokers(site: SiteSpec, layout: Paths) -> list[Program]:
    """One after the other: those after the first take over the cluster's id."""
    return [prepare_broker(site, layout, node) for node in nodes(site)]


def _refuse_other_controllers(site: SiteSpec, properties: Path) -> None:
    """Who votes is written down where the cluster began."""
    if not properties.exists():
        return
    before = _voters(read_properties(properties)["controller.quorum.voters"])
    if before != _voters(quorum(site)):
        raise BrokerStorageError(
            f"site {site.name!r}: brokers={site.brokers} needs other controllers than the"
            f" {len(before)} that it began with; a cluster of one or two brokers stays below"
            " three, one of three or more stays above two"
        )


def _voters(listed: str) -> list[str]:
    return [voter.partition("@")[0] for voter in listed.split(",")]


def _program(site: SiteSpec, layout: Paths, node: int) -> Program:
    name, folder = f"kafka-{node_name(site, node)}", layout.broker(node_name(site, node))
    return Program(
        name=name,
        command=(*_java(site, layout), "kafka.Kafka", str(folder / "server.properties")),
        directory=folder,
        log=layout.logs / f"{name}.log",
        priority=10,
        # Fewer malloc arenas: less memory for threads that rarely allocate.
        environment={"MALLOC_ARENA_MAX": "2"},
        port=node_ports(site, node)[0],
    )


def _java(site: SiteSpec, layout: Paths) -> tuple[str, ...]:
    memory = site.local.memory if site.local else "256m"
    logging = layout.home / "infra" / "kafka" / "log4j2.properties"
    return (
        "java",
        f"-Xmx{memory}",
        "-Xms64m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        f"-Dlog4j2.configurationFile={logging}",
        "-cp",
        f"{layout.jars('kafka')}/*",
    )


def _format_storage(site: SiteSpec, layout: Paths, node: int) -> None:
    """Format aside and rename: `data` is there whole or not at all, also after a power cut."""
    folder = layout.broker(node_name(site, node))
    draft, properties = folder / "data.draft", folder / "format.properties"
    shutil.rmtree(draft, ignore_errors=True)
    settings = broker_settings(site, layout, node) | {"log.dirs": draft}
    write_atomic(properties, as_properties(settings) + "\n")
    arguments = _format_arguments(properties, _cluster_id(site, layout, node))
    _run_format((*_java(site, layout), *arguments), site)
    properties.unlink()
    os.sync()
    draft.rename(folder / "data")
    os.sync()


def _cluster_id(site: SiteSpec, layout: Paths, node: int) -> str:
    if node != FIRST:
        meta = layout.broker(node_name(site, FIRST)) / "data" / "meta.properties"
        return read_properties(meta)["cluster.id"]
    # A prefix of our own: an id that begins with a dash would be taken for an option.
    return "M" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]


def _format_arguments(properties: Path, cluster_id: str) -> tuple[str, ...]:
    return ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties))


def _run_format(command: tuple[str, ...], site: SiteSpec) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_FORMAT_TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise BrokerStorageError("there is no 'java' on the PATH; install a Java 17 JDK") from error
    except subprocess.TimeoutExpired as error:
        problem = f"not done after {_FORMAT_TIMEOUT_S} s"
        raise BrokerStorageError(
            f"site {site.name!r}: formatting its storage: {problem}"
        ) from error
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise BrokerStorageError(f"site {site.name!r}: formatting its storage failed: {last}")
