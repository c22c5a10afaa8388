"""The schema registry on this machine: what it is told, and what it is to hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path

from millrace.base.addresses import LOOPBACK
from millrace.base.errors import MillraceError, TransientError
from millrace.base.model import Frozen

# The name of its process, its certificate and the folder of its passwords.
NAME = "schema-registry"
# A newer schema of a subject reads what all older ones wrote.
COMPATIBILITY = "BACKWARD_TRANSITIVE"
_SUFFIX = "-value"
_REALM = "Quarkus"
_UNUSED_MAX = 1_000


class User(StrEnum):
    """Who may do what there: set rules, register schemas, read them."""

    ADMIN = "admin"
    PUBLISHER = "publisher"
    READER = "reader"


_ROLES = {User.ADMIN: "sr-admin", User.PUBLISHER: "sr-developer", User.READER: "sr-readonly"}


class Registry(Frozen):
    """Where it listens."""

    port: int
    host: str = LOOPBACK

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"


class RegistryUnreachableError(TransientError):
    """The registry does not answer, or not as it should."""


class RegistryRefusedError(MillraceError):
    """The registry answers, and will not."""


class IncompatibleError(RegistryRefusedError):
    """A schema that could not read what older ones of its topic have written."""


class OutOfStepError(MillraceError):
    """An id stands for one schema in the files and for another in the registry."""


def subject_of(topic: str) -> str:
    """Where Confluent's clients look for the schema of a topic's values."""
    return topic + _SUFFIX


def topic_of(subject: str) -> str | None:
    """None: no topic's values."""
    return subject.removesuffix(_SUFFIX) if subject.endswith(_SUFFIX) else None


def normal(schema: str) -> str:
    """The same schema is the same text, however its file is laid out."""
    return json.dumps(json.loads(schema), separators=(",", ":"))


def filler(number: int) -> tuple[str, str]:
    """Subject and schema for an id that no file has: the registry counts without gaps."""
    schema = {"type": "fixed", "name": f"Unused{number}", "size": number}
    return f"millrace-unused-{number}", normal(json.dumps(schema))


_WAYS_OUT = (
    "if nothing was written with the file's id yet, give it a free one ('millrace schema list'"
    f" shows all); if nothing was written with the registry's, delete var/{NAME} and run"
    " 'millrace up': it is filled anew from schemas/"
)


def check_ids(ids: Collection[int]) -> None:
    """Each id that is left out costs the registry a placeholder."""
    unused = max(ids, default=0) - len(ids)
    if unused > _UNUSED_MAX:
        raise OutOfStepError(
            f"schemas/: its ids go up to {max(ids)} and leave {unused} unused; the registry counts"
            f" without gaps and passes over {_UNUSED_MAX} at most: give the files lower ids"
        )


def check_known(number: int, schema: str, known: str | None, what: str) -> None:
    """Before anything is registered: what the registry has under an id is what the file says."""
    if known is not None and normal(known) != normal(schema):
        raise OutOfStepError(f"{what}: id {number} is another schema in the registry; {_WAYS_OUT}")


def check_given(number: int, given: int, what: str) -> None:
    """Messages name a schema by its id, so it has to be the same everywhere."""
    if given != number:
        raise OutOfStepError(
            f"{what}: the registry has this schema under id {given}, and messages would name it"
            f" {number}; {_WAYS_OUT}"
        )


def registry_properties(
    registry: Registry,
    folder: Path,
    certificate: Path,
    key: Path,
    passwords: Mapping[User, str],
    listen: str = LOOPBACK,
) -> dict[str, str]:
    """Its settings: TLS and a password at its one door, and its passwords as hashes alone."""
    users = "quarkus.security.users.embedded"
    return {
        "quarkus.http.host": listen,
        "quarkus.http.ssl-port": str(registry.port),
        "quarkus.http.insecure-requests": "disabled",
        "quarkus.http.ssl.protocols": "TLSv1.3",
        "quarkus.http.ssl.certificate.files": str(certificate),
        "quarkus.http.ssl.certificate.key-files": str(key),
        # Or it would have a second door, in plain text, open to all networks.
        "quarkus.management.host-enabled": "false",
        # Quarkus says that this comes too late; Apicurio reads it all the same.
        "quarkus.http.auth.basic": "true",
        "quarkus.http.auth.permission.all.paths": "/*",
        "quarkus.http.auth.permission.all.policy": "authenticated",
        f"{users}.algorithm": "DIGEST_SHA_512",
        **{f"{users}.users.{user}": _hash(user, word) for user, word in passwords.items()},
        **{f"{users}.roles.{user}": role for user, role in _ROLES.items()},
        "apicurio.auth.role-based-authorization": "true",
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        # What it has answered is on disk: it may be killed.
        "apicurio.datasource.url": f"jdbc:h2:file:{folder}/data/registry;WRITE_DELAY=0",
        "apicurio.datasource.jdbc.initial-size": "1",
        "apicurio.datasource.jdbc.min-size": "1",
        "apicurio.datasource.jdbc.max-size": "8",
        "apicurio.storage.snapshot.location": str(folder),
        "quarkus.http.access-log.enabled": "false",
        "quarkus.banner.enabled": "false",
        "quarkus.log.console.format": "%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p [%c{1}] %s%e%n",
    }


def _hash(user: str, password: str) -> str:
    """As the realm compares it; the password is long and random, so no salt is needed."""
    return hashlib.sha512(f"{user}:{_REALM}:{password}".encode()).hexdigest()
