"""What a relay needs at its sites and at its target, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.provisioning.core.site_rights import (
    ANY_GROUP,
    APP_GROUPS,
    Acl,
    Operation,
    Resource,
    Topic,
    Wanted,
)
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.user_names import APP, RELAY

_POSITIONS = {
    "cleanup.policy": "compact",
    # Read whole at each start, so it is kept small.
    "segment.bytes": str(8 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}
_BRINGS = (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE, Operation.ALTER)
_READS = (Operation.READ, Operation.DESCRIBE)
_IN_TRANSACTIONS = (Operation.WRITE, Operation.DESCRIBE)


# It joins no group and may not; but its client asks who would coordinate one.
GROUP = "relay"


def wanted_at_site(relay: RelaySpec) -> Wanted:
    """It reads by partition. The site's topics are others' to make."""
    asks = _acl(RELAY, Operation.DESCRIBE, Resource.GROUP, GROUP)
    return Wanted(users=(RELAY,), acls=(*_on_topics(RELAY, relay.topics, _READS), asks))


def wanted_at_target(relay: RelaySpec, sites: Iterable[str]) -> Wanted:
    """It makes its topics itself, as sites turn out to have them; so it needs each one's name."""
    names = [relay.target(site, topic) for site in sites for topic in relay.topics]
    positions = relay.positions_topic
    return Wanted(
        users=(RELAY, APP),
        topics=(Topic(name=positions, partitions=1, settings=_POSITIONS),),
        acls=(
            *_on_topics(RELAY, names, _BRINGS),
            *_on_topics(RELAY, [positions], (*_READS, Operation.WRITE)),
            *(
                _acl(RELAY, operation, Resource.TRANSACTIONAL_ID, name)
                for name in relay.transactional_ids
                for operation in _IN_TRANSACTIONS
            ),
            _acl(RELAY, Operation.DESCRIBE, Resource.GROUP, GROUP),
            *_on_topics(APP, [*names, positions], _READS),
            APP_GROUPS,
        ),
        withdrawn=(ANY_GROUP,),
    )


def _on_topics(
    user: str, topics: Iterable[str], operations: tuple[Operation, ...]
) -> Iterable[Acl]:
    return (
        _acl(user, operation, Resource.TOPIC, topic) for topic in topics for operation in operations
    )


def _acl(user: str, operation: Operation, resource: Resource, name: str) -> Acl:
    return Acl(user=user, operation=operation, resource=resource, name=name)
