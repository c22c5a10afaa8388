"""Provisioning decides: what a site should have, what it has, and what is to be done.

Nothing is taken away but rights that we gave by mistake or too many of: a topic's data and a user's
rights are not ours to lose. (Who retires a site takes its users and rights, in `site_users`.)
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.devices.core.registration import RegisteredKind
from millrace.kafka.core.platform_topics import COMMANDS, EVENTS, OUTCOMES
from millrace.pipelines.core.spec import PipelineSpec
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import (
    APP,
    GATEWAY,
    INGEST,
    PLATFORM,
    REGISTRAR,
    SIMULATOR,
    SITE_USERS,
)


class Resource(StrEnum):
    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional id"


class Operation(StrEnum):
    READ = "read"
    WRITE = "write"
    DESCRIBE = "describe"
    CREATE = "create"
    ALTER = "alter"


class Acl(Frozen):
    """One right of one user. `prefixed`: on every resource whose name begins so."""

    user: str
    operation: Operation
    resource: Resource
    name: str
    prefixed: bool = False

    def __str__(self) -> str:
        name = f"{self.name}*" if self.prefixed else self.name
        return f"{self.user} may {self.operation} {self.resource} {name}"


class Topic(Frozen):
    """A topic; of its settings only those that are asked for."""

    name: str
    partitions: int
    settings: dict[str, str] = Field(default_factory=dict)


class Wanted(Frozen):
    """`withdrawn`: rights that we gave once and that nobody needs."""

    users: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    acls: tuple[Acl, ...] = ()
    withdrawn: tuple[Acl, ...] = ()

    def and_also(self, other: Wanted) -> Wanted:
        return Wanted(
            users=(*self.users, *other.users),
            topics=(*self.topics, *other.topics),
            acls=(*self.acls, *other.acls),
            withdrawn=(*self.withdrawn, *other.withdrawn),
        )


class Actual(Frozen):
    users: frozenset[str] = frozenset()
    topics: tuple[Topic, ...] = ()
    acls: frozenset[Acl] = frozenset()


class CreateUser(Frozen):
    kind: Literal["create user"] = "create user"
    user: str

    def __str__(self) -> str:
        return f"user {self.user}: created"


class CreateTopic(Frozen):
    kind: Literal["create topic"] = "create topic"
    topic: Topic

    def __str__(self) -> str:
        return f"topic {self.topic.name}: created with {self.topic.partitions} partitions"


class GrowTopic(Frozen):
    kind: Literal["grow topic"] = "grow topic"
    topic: str
    partitions: int
    before: int

    def __str__(self) -> str:
        return f"topic {self.topic}: grown from {self.before} to {self.partitions} partitions"


class AlterTopic(Frozen):
    kind: Literal["alter topic"] = "alter topic"
    topic: str
    settings: dict[str, str]

    def __str__(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in sorted(self.settings.items()))
        return f"topic {self.topic}: set {settings}"


class CreateAcl(Frozen):
    kind: Literal["create acl"] = "create acl"
    acl: Acl

    def __str__(self) -> str:
        return f"right: {self.acl}"


class DeleteAcl(Frozen):
    kind: Literal["delete acl"] = "delete acl"
    acl: Acl

    def __str__(self) -> str:
        return f"right taken away: {self.acl}"


Change = CreateUser | CreateTopic | GrowTopic | AlterTopic | CreateAcl | DeleteAcl


class FewerPartitionsError(MillraceError):
    """Kafka cannot take partitions away from a topic."""

    def __init__(self, topic: str, wanted: int, actual: int) -> None:
        super().__init__(
            f"topic {topic!r} has {actual} partitions and cannot shrink to partitions={wanted};"
            f" write partitions: {actual}, or take a new topic"
        )


def plan_changes(wanted: Wanted, actual: Actual) -> tuple[Change, ...]:
    """What turns `actual` into `wanted`; nothing when it already is."""
    users = [CreateUser(user=user) for user in wanted.users if user not in actual.users]
    existing = {topic.name: topic for topic in actual.topics}
    topics = [
        change for topic in wanted.topics for change in _plan_topic(topic, existing.get(topic.name))
    ]
    # Several pipelines may want the same right, and the cluster takes it but once in a request.
    rights = dict.fromkeys(wanted.acls)
    acls = [CreateAcl(acl=acl) for acl in rights if acl not in actual.acls]
    gone = [
        DeleteAcl(acl=acl)
        for acl in dict.fromkeys(wanted.withdrawn)
        if acl in actual.acls and acl not in rights
    ]
    return (*users, *topics, *acls, *gone)


def _plan_topic(wanted: Topic, actual: Topic | None) -> Iterable[Change]:
    if actual is None:
        yield CreateTopic(topic=wanted)
        return
    if wanted.partitions < actual.partitions:
        raise FewerPartitionsError(wanted.name, wanted.partitions, actual.partitions)
    if wanted.partitions > actual.partitions:
        yield GrowTopic(topic=wanted.name, partitions=wanted.partitions, before=actual.partitions)
    differing = dict(wanted.settings.items() - actual.settings.items())
    if differing:
        yield AlterTopic(topic=wanted.name, settings=differing)


def wanted_for_site(
    site: SiteSpec, pipelines: Iterable[PipelineSpec], events_site: str | None = None
) -> Wanted:
    """Topics, users and rights that the pipelines need at a site, and platform events at theirs."""
    needed = _of_pipelines(site, pipelines).and_also(_OF_REGISTRATION).and_also(_OF_COMMANDS)
    return needed.and_also(_OF_EVENTS) if site.name == events_site else needed


def _of_pipelines(site: SiteSpec, pipelines: Iterable[PipelineSpec]) -> Wanted:
    here = [pipeline for pipeline in pipelines if pipeline.reads(site.name)]
    partitions: dict[str, int] = {}
    for pipeline in here:
        for topic in pipeline.topics:
            partitions[topic] = max(pipeline.partitions, partitions.get(topic, 1))
    names = sorted(partitions)
    return Wanted(
        users=SITE_USERS,
        topics=tuple(
            Topic(name=name, partitions=partitions[name], settings=_BROKERS_CLOCK) for name in names
        ),
        acls=(
            *_ingest_acls(names),
            *_app_acls(names),
            *(_writes(APP, names) if site.direct else ()),
            *(_writes(SIMULATOR, names) if site.is_simulated_directly else ()),
            *_gateway_acls(names),
        ),
        withdrawn=(
            ANY_GROUP,
            *_on_topics(APP, names, Operation.WRITE),
            *_on_topics(SIMULATOR, names, Operation.WRITE),
        ),
    )


# A record's time, and with it its day in the lake, is the broker's: no device's clock moves it.
_BROKERS_CLOCK = {"message.timestamp.type": "LogAppendTime"}


def _ingest_acls(topics: list[str]) -> list[Acl]:
    reads = _on_topics(INGEST, topics, Operation.READ, Operation.DESCRIBE)
    return [*reads, _prefixed(INGEST, Operation.READ, Resource.GROUP, "millrace-")]


def _app_acls(topics: list[str]) -> list[Acl]:
    """The operator's own clients: groups and transactions under names of their own."""
    return [
        *_on_topics(APP, topics, Operation.READ, Operation.DESCRIBE),
        APP_GROUPS,
        _prefixed(APP, Operation.WRITE, Resource.TRANSACTIONAL_ID, APP),
        _prefixed(APP, Operation.DESCRIBE, Resource.TRANSACTIONAL_ID, APP),
    ]


def _writes(user: str, topics: list[str]) -> list[Acl]:
    return _on_topics(user, topics, Operation.WRITE, Operation.DESCRIBE)


def _gateway_acls(topics: list[str]) -> list[Acl]:
    """It reads what it has sent: so it knows after a crash what need not be sent again."""
    return [
        *_on_topics(GATEWAY, topics, Operation.READ, Operation.WRITE, Operation.DESCRIBE),
        Acl(user=GATEWAY, operation=Operation.READ, resource=Resource.GROUP, name=GATEWAY),
    ]


def _on_topics(user: str, topics: list[str], *operations: Operation) -> list[Acl]:
    return [
        Acl(user=user, operation=operation, resource=Resource.TOPIC, name=topic)
        for topic in topics
        for operation in operations
    ]


def _prefixed(user: str, operation: Operation, resource: Resource, name: str) -> Acl:
    return Acl(user=user, operation=operation, resource=resource, name=name, prefixed=True)


# Whoever joins a group takes partitions of those who are in it. With a group of any name, as `app`
# had it once, it could keep platform events from whoever watches them.
APP_GROUPS = _prefixed(APP, Operation.READ, Resource.GROUP, APP)
ANY_GROUP = Acl(user=APP, operation=Operation.READ, resource=Resource.GROUP, name="*")

# One partition: they are read in the order in which they were told. Two weeks outlast any Airflow
# that is down.
_OF_EVENTS = Wanted(
    users=(PLATFORM,),
    topics=(Topic(name=EVENTS, partitions=1, settings={"retention.ms": "1209600000"}),),
    acls=(
        *_on_topics(PLATFORM, [EVENTS], Operation.READ, Operation.WRITE, Operation.DESCRIBE),
        Acl(user=PLATFORM, operation=Operation.READ, resource=Resource.GROUP, name=EVENTS),
    ),
)

_REGISTRATIONS = [kind.topic for kind in RegisteredKind]
# One partition: what was registered first is read first. The newest of each id stays for ever.
# By its one transactional id a registrar shuts out another who decided on an older state.
_OF_REGISTRATION = Wanted(
    topics=tuple(
        Topic(name=name, partitions=1, settings={"cleanup.policy": "compact", **_BROKERS_CLOCK})
        for name in _REGISTRATIONS
    ),
    acls=(
        *_on_topics(REGISTRAR, _REGISTRATIONS, Operation.READ, Operation.WRITE, Operation.DESCRIBE),
        Acl(
            user=REGISTRAR,
            operation=Operation.WRITE,
            resource=Resource.TRANSACTIONAL_ID,
            name=REGISTRAR,
        ),
        Acl(user=REGISTRAR, operation=Operation.READ, resource=Resource.GROUP, name=REGISTRAR),
        *_on_topics(APP, _REGISTRATIONS, Operation.READ, Operation.DESCRIBE),
    ),
)

# One partition: they are sent in the order in which they were issued. No command lives longer.
# Who operates commands devices; the gateway alone says what became of it.
_OF_COMMANDS = Wanted(
    topics=tuple(
        Topic(name=name, partitions=1, settings={**_BROKERS_CLOCK, "retention.ms": "604800000"})
        for name in (COMMANDS, OUTCOMES)
    ),
    acls=(
        *_on_topics(APP, [COMMANDS], Operation.READ, Operation.WRITE, Operation.DESCRIBE),
        *_on_topics(APP, [OUTCOMES], Operation.READ, Operation.DESCRIBE),
        *_on_topics(GATEWAY, [COMMANDS], Operation.READ, Operation.DESCRIBE),
        *_on_topics(GATEWAY, [OUTCOMES], Operation.READ, Operation.WRITE, Operation.DESCRIBE),
    ),
)
