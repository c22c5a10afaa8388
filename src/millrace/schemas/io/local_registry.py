"""The schema registry on this machine: its files, its process, its schemas."""

from __future__ import annotations

from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.base.names import LETTERS, TopicName, check_named
from millrace.kafka.core.kafka_client import as_properties
from millrace.processes.core.program import Program
from millrace.schemas.core.registry import NAME, Registry, User, registry_properties
from millrace.schemas.io.registry_client import RegistryClient, publish
from millrace.schemas.io.schema_files import load_schema_files
from millrace.secrets.io.passwords import ensure_user, read_user
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import make_private, write_atomic, write_new


class NotInstalledError(MillraceError):
    def __init__(self, missing: Path) -> None:
        super().__init__(
            f"the schema registry is not installed ({missing} is missing); 'make up REGISTRY=1'"
            " installs it, 'millrace up --no-registry' goes on without"
        )


def prepare_registry(layout: Paths, registry: Registry) -> Program:
    """Everything up to the start of the process; done again, it changes nothing."""
    folder = layout.registry_folder
    app, java = layout.jars("registry") / "quarkus-run.jar", layout.registry_java
    for file in (app, java):
        if not (layout.apart or file.exists()):  # a container of its own has them
            raise NotInstalledError(file)
    make_private(folder)
    certificate, key = ensure_server_certificate(layout, NAME, layout.own_hosts(NAME))
    passwords = {user: ensure_user(layout, NAME, user).password for user in User}
    settings = folder / "registry.properties"
    properties = registry_properties(registry, folder, certificate, key, passwords, layout.listen)
    write_atomic(settings, as_properties(properties) + "\n")
    return Program(
        name=NAME,
        command=(
            str(java),
            "-Xmx192m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            "-XX:-UsePerfData",
            f"-Dquarkus.config.locations={settings}",
            "-jar",
            str(app),
        ),
        directory=folder,
        log=layout.logs / f"{NAME}.log",
        priority=10,
        environment={"MALLOC_ARENA_MAX": "2"},
        port=registry.port,
    )


def open_client(layout: Paths, registry: Registry, user: User) -> RegistryClient:
    login = read_user(layout, NAME, user)
    return RegistryClient(registry, layout.ca, login.username, login.password)


def is_open(layout: Paths, registry: Registry) -> bool:
    return open_client(layout, registry, User.READER).is_open()


def fill(layout: Paths, registry: Registry) -> list[int]:
    """Its rule, and the schemas of the files; ids of those that are new there."""
    open_client(layout, registry, User.ADMIN).ensure_rule()
    publisher = open_client(layout, registry, User.PUBLISHER)
    return publish(publisher, load_schema_files(layout.schemas))


def keep(layout: Paths, number: int, topic: str, text: str) -> Path:
    """The schema as a file, which jobs read; what is there already stays."""
    file = layout.schemas / f"{number}-{check_topic(topic)}.avsc"
    write_new(file, text, mode=0o644)
    load_schema_files(layout.schemas)
    return file


def check_topic(topic: str) -> str:
    """A subject's name is the registry's, and anybody may publish there: `../x` is a path."""
    allowed = f"up to 200 {LETTERS}; a subject of the registry with such a name can be deleted"
    return check_named(TopicName, topic, "the schema's topic", allowed)
