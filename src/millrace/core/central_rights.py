"""What the central cluster should have: topics as relays fill them, and rights. Users are made by
whoever keeps their secrets."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.core.central import Central
from millrace.core.pipeline import PipelineSpec
from millrace.core.provision import APP, INGEST, Acl, Operation, Resource, Topic, Wanted
from millrace.core.site import SiteSpec

# A record's time stays the site's.
_SITES_CLOCK = {"message.timestamp.type": "CreateTime"}
_READS = (Operation.READ, Operation.DESCRIBE)
_WRITES = (Operation.WRITE, Operation.DESCRIBE)


def wanted_at_central(
    central: Central, site: SiteSpec, pipelines: Iterable[PipelineSpec]
) -> Wanted:
    """For one site; its relay logs in under the site's name, and writes in transactions."""
    partitions: dict[str, int] = {}
    for pipeline in pipelines:
        for topic in pipeline.topics if pipeline.reads(site.name) else ():
            name = central.topic(site.name, topic)
            partitions[name] = max(pipeline.partitions, partitions.get(name, 1))
    return Wanted(
        topics=tuple(
            Topic(name=name, partitions=count, settings=_SITES_CLOCK)
            for name, count in sorted(partitions.items())
        ),
        acls=(
            *_on(Resource.TOPIC, sorted(partitions), INGEST, _READS),
            *_on(Resource.TOPIC, sorted(partitions), APP, _READS),
            *_on(Resource.TOPIC, sorted(partitions), site.name, _WRITES),
            *_on(Resource.GROUP, ["millrace-"], INGEST, (Operation.READ,), prefixed=True),
            *_on(Resource.GROUP, ["*"], APP, (Operation.READ,)),
            *_on(Resource.TRANSACTIONAL_ID, [f"{site.name}-"], site.name, _WRITES, prefixed=True),
        ),
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
