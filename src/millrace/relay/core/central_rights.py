"""What the central cluster should have: topics as relays fill them, and rights. Users are made by
whoever keeps their secrets."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import (
    ANY_GROUP,
    APP_GROUPS,
    Acl,
    Operation,
    Resource,
    Topic,
    Wanted,
)
from millrace.relay.core.relay_rights import GROUP
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.central import Central
from millrace.sites.core.spec import SiteSpec
from millrace.sites.core.user_names import APP, INGEST

# A record's time stays the site's.
_SITES_CLOCK = {"message.timestamp.type": "CreateTime"}
# The newest position of each partition stays. How small it is kept is not everybody's to say.
_POSITIONS = {"cleanup.policy": "compact"}
_CENTRAL = "central"
_READS = (Operation.READ, Operation.DESCRIBE)
_WRITES = (Operation.WRITE, Operation.DESCRIBE)


def wanted_at_central(
    central: Central, site: SiteSpec, pipelines: Iterable[PipelineSpec]
) -> Wanted:
    """For one site, and for a relay of the site's name that logs in under that name."""
    partitions: dict[str, int] = {}
    for pipeline in pipelines:
        for topic in pipeline.topics if pipeline.reads(site.name) else ():
            name = central.topic(site.name, topic)
            partitions[name] = max(pipeline.partitions, partitions.get(name, 1))
    if not partitions:
        return Wanted()
    relay = RelaySpec(name=site.name, sites=(site.name,), topics=tuple(partitions), to=_CENTRAL)
    return Wanted(
        topics=(
            *(
                Topic(name=name, partitions=count, settings=_SITES_CLOCK)
                for name, count in sorted(partitions.items())
            ),
            Topic(name=relay.positions_topic, partitions=1, settings=_POSITIONS),
        ),
        acls=(
            *_on(Resource.TOPIC, sorted(partitions), INGEST, _READS),
            *_on(Resource.TOPIC, sorted(partitions), APP, _READS),
            *_on(Resource.TOPIC, sorted(partitions), site.name, _WRITES),
            *_on(Resource.GROUP, ["millrace-"], INGEST, (Operation.READ,), prefixed=True),
            APP_GROUPS,
            *_on(Resource.TOPIC, [relay.positions_topic], site.name, (Operation.READ, *_WRITES)),
            *_on(Resource.TRANSACTIONAL_ID, relay.transactional_ids, site.name, _WRITES),
            *_on(Resource.GROUP, [GROUP], site.name, (Operation.DESCRIBE,)),
        ),
        withdrawn=(ANY_GROUP,),
    )


def _on(
    resource: Resource,
    names: Iterable[str],
    user: str,
    operations: Iterable[Operation],
    *,
    prefixed: bool = False,
) -> list[Acl]:
    return [
        Acl(user=user, operation=operation, resource=resource, name=name, prefixed=prefixed)
        for name in names
        for operation in operations
    ]
