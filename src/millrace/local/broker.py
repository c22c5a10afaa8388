"""A site's broker on this machine: its files, its storage, its process."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from millrace.core.broker import admin_name, broker_name, broker_settings
from millrace.core.errors import MillraceError
from millrace.core.kafka_client import as_properties
from millrace.core.layout import Layout
from millrace.core.site import SiteSpec
from millrace.local.pki import ensure_certificate
from millrace.local.program import Program
from millrace.state.files import make_private, write_atomic

_FORMAT_TIMEOUT_S = 120


class BrokerStorageError(MillraceError):
    """The broker's storage cannot be made ready."""


def prepare_broker(site: SiteSpec, layout: Layout) -> Program:
    """Everything up to the start of the process; done again, it changes nothing."""
    ensure_certificate(layout, site.name, "broker", broker_name(site))
    ensure_certificate(layout, site.name, "admin", admin_name(site))
    folder = layout.broker(site.name)
    make_private(folder)
    properties = folder / "server.properties"
    write_atomic(properties, as_properties(broker_settings(site, layout)) + "\n")
    if not (folder / "data").exists():
        _format_storage(site, layout)
    return _program(site, layout, properties)


def _program(site: SiteSpec, layout: Layout, properties: Path) -> Program:
    return Program(
        name=f"kafka-{site.name}",
        command=(*_java(site, layout), "kafka.Kafka", str(properties)),
        directory=layout.broker(site.name),
        log=layout.logs / f"kafka-{site.name}.log",
        priority=10,
        # Fewer malloc arenas: less memory for threads that rarely allocate.
        environment={"MALLOC_ARENA_MAX": "2"},
        port=site.port,
    )


def _java(site: SiteSpec, layout: Layout) -> tuple[str, ...]:
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


def _format_storage(site: SiteSpec, layout: Layout) -> None:
    """Format aside and rename: `data` is there whole or not at all, also after a power cut."""
    folder = layout.broker(site.name)
    draft, properties = folder / "data.draft", folder / "format.properties"
    shutil.rmtree(draft, ignore_errors=True)
    settings = broker_settings(site, layout) | {"log.dirs": draft}
    write_atomic(properties, as_properties(settings) + "\n")
    _run_format((*_java(site, layout), *_format_arguments(properties)), site)
    properties.unlink()
    os.sync()
    draft.rename(folder / "data")
    os.sync()


def _format_arguments(properties: Path) -> tuple[str, ...]:
    # A prefix of our own: an id that begins with a dash would be taken for an option.
    cluster_id = "M" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
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
