"""A site seen and changed by its administrator; knows Kafka's words, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import singledispatchmethod
from itertools import groupby, islice
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from millrace.kafka.io.client_errors import RefusedError, Watch, watched
from millrace.provisioning.core.site_rights import (
    Acl,
    Actual,
    AlterTopic,
    Change,
    CreateAcl,
    CreateTopic,
    CreateUser,
    DeleteAcl,
    GrowTopic,
    Topic,
)
from millrace.provisioning.core.site_users import DeleteUser, SetPassword, UserChange
from millrace.provisioning.io.acls import EVERY_ACL, exactly, kafka_acl, our_acl
from millrace.sites.core.spec import ClientSettings, SiteSpec

_SCRAM_ROUNDS = 4096
# A request that asks for 10,000 changes is refused.
_RIGHTS_AT_ONCE = 1_000
_NEEDED = (AclOperation.ALTER, AclOperation.DESCRIBE)
AnyChange = Change | UserChange


class Admin:
    """One site's administrator. Every failure is a SiteError, except `is_conflict` ones."""

    def __init__(
        self,
        site: SiteSpec,
        settings: ClientSettings,
        password_of: Callable[[str], str],
        timeout_s: float = 15.0,
    ) -> None:
        self._site = site
        self._watch = Watch(site, settings)
        prompt = {"reconnect.backoff.max.ms": 1_000, **settings}
        self._client = AdminClient(watched(prompt, self._watch))
        self._password_of = password_of
        self._timeout_s = timeout_s

    def observe(self, topics: Iterable[str], *, with_users: bool = True) -> Actual:
        """What there is; settings of the named topics only. Not every cluster lists its users."""
        names = set(topics)
        partitions = self._partitions()
        settings = self._settings_of(sorted(names & partitions.keys()))
        return Actual(
            users=self._users() if with_users else frozenset(),
            topics=tuple(
                Topic(name=name, partitions=count, settings=settings.get(name, {}))
                for name, count in sorted(partitions.items())
            ),
            acls=self._acls(),
        )

    def _partitions(self) -> dict[str, int]:
        try:
            metadata = self._client.list_topics(timeout=self._timeout_s)
        except KafkaException as error:
            self._client.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0]) from error
        return {name: len(topic.partitions) for name, topic in metadata.topics.items()}

    def _settings_of(self, topics: list[str]) -> dict[str, dict[str, str]]:
        if not topics:
            return {}
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in topics]
        found = self._client.describe_configs(resources, request_timeout=self._timeout_s)
        return {
            resource.name: {key: entry.value for key, entry in self._wait(future).items()}
            for resource, future in found.items()
        }

    def _users(self) -> frozenset[str]:
        self._check_rights()
        users = self._wait(self._client.describe_user_scram_credentials())
        return frozenset(
            user
            for user, described in users.items()
            if any(
                info.mechanism == ScramMechanism.SCRAM_SHA_512
                for info in described.scram_credential_infos
            )
        )

    def _check_rights(self) -> None:
        """Asked beforehand: confluent-kafka 2.16 frees wrongly, and so dies, when the cluster
        refuses to describe its users."""
        asked = self._client.describe_cluster(include_authorized_operations=True)
        allowed = set(self._wait(asked).authorized_operations or ())
        missing = [operation.name for operation in _NEEDED if operation not in allowed]
        if missing:
            text = f"our administrator has no right to {' and '.join(missing)} the cluster"
            raise RefusedError(self._site.name, text)

    def _acls(self) -> frozenset[Acl]:
        bindings = self._wait(self._client.describe_acls(EVERY_ACL))
        return frozenset(acl for binding in bindings if (acl := our_acl(binding)))

    def apply_all(self, changes: Iterable[AnyChange]) -> Iterator[AnyChange]:
        """Do them in their order; each is returned when it is done.

        Rights next to each other go together: the cluster takes as long for one as for all.
        """
        for kind, alike in groupby(changes, type):
            if kind in (CreateAcl, DeleteAcl):
                yield from self._apply_rights(alike)
                continue
            for change in alike:
                self.apply(change)
                yield change

    def _apply_rights(self, changes: Iterator[AnyChange]) -> Iterator[AnyChange]:
        while some := list(islice(changes, _RIGHTS_AT_ONCE)):
            given = [kafka_acl(one.acl) for one in some if isinstance(one, CreateAcl)]
            taken = [exactly(one.acl) for one in some if isinstance(one, DeleteAcl)]
            self._wait_all(
                self._client.create_acls(given) if given else self._client.delete_acls(taken)
            )
            yield from some

    @singledispatchmethod
    def apply(self, change: AnyChange) -> None:
        """Do one change, of anything but rights; doing it again does no harm."""
        raise NotImplementedError(change)

    @apply.register
    def _(self, change: CreateUser | SetPassword) -> None:
        rounds = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _SCRAM_ROUNDS)
        password = self._password_of(change.user).encode()
        user = UserScramCredentialUpsertion(change.user, rounds, password)
        self._wait_all(self._client.alter_user_scram_credentials([user]))

    @apply.register
    def _(self, change: CreateTopic) -> None:
        topic = change.topic
        new = NewTopic(topic.name, topic.partitions, config=topic.settings)
        self._wait_all(self._client.create_topics([new]))

    @apply.register
    def _(self, change: GrowTopic) -> None:
        grown = NewPartitions(change.topic, change.partitions)
        self._wait_all(self._client.create_partitions([grown]))

    @apply.register
    def _(self, change: AlterTopic) -> None:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in change.settings.items()
        ]
        topic = ConfigResource(ConfigResource.Type.TOPIC, change.topic, incremental_configs=entries)
        self._wait_all(self._client.incremental_alter_configs([topic]))

    @apply.register
    def _(self, change: DeleteUser) -> None:
        user = UserScramCredentialDeletion(change.user, ScramMechanism.SCRAM_SHA_512)
        self._wait_all(self._client.alter_user_scram_credentials([user]))

    def _wait_all(self, futures: Mapping[Any, Any]) -> None:
        for future in futures.values():
            self._wait(future)

    def _wait(self, future: Any) -> Any:
        try:
            return future.result(timeout=self._timeout_s)
        except KafkaException as error:
            if is_conflict(error):
                raise
            raise self._watch.explain(error.args[0]) from error
        except TimeoutError as error:
            raise self._watch.explain() from error


def is_conflict(error: KafkaException) -> bool:
    """Whether somebody else did the same, or more, at the same time."""
    return error.args[0].code() in (
        KafkaError.TOPIC_ALREADY_EXISTS,
        KafkaError.INVALID_PARTITIONS,
    )
