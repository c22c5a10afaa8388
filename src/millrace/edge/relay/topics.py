"""Makes room at the target for what sites have."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from millrace.core.provision import CreateTopic, GrowTopic
from millrace.core.relay import RelaySpec
from millrace.core.relay_plan import plan_topics
from millrace.core.site import ClientSettings, SiteSpec
from millrace.edge.admin import is_conflict
from millrace.edge.errors import Watch, watched

_TIMEOUT_S = 15.0


class TargetTopics:
    """Asked by the readers of all sites, each from its own thread."""

    def __init__(self, relay: RelaySpec, target: SiteSpec, settings: ClientSettings) -> None:
        self._relay = relay
        self._watch = Watch(target, settings)
        self._admin = AdminClient(watched(settings, self._watch))
        self._lock = threading.Lock()

    def make_room(self, site: str, source: Mapping[str, int]) -> list[str]:
        """What was done, a line each. `source`: the site's topics with their partitions."""
        with self._lock:
            try:
                there = self._partitions()
                changes = list(plan_topics(self._relay, site, source, there))
                for change in changes:
                    self._apply(change)
            except KafkaException as error:
                self._admin.poll(0)  # until now nobody let the watch hear the reason
                raise self._watch.explain(error.args[0], site) from error
        return [str(change) for change in changes]

    def _partitions(self) -> dict[str, int]:
        metadata = self._admin.list_topics(timeout=_TIMEOUT_S)
        return {name: len(topic.partitions) for name, topic in metadata.topics.items()}

    def _apply(self, change: CreateTopic | GrowTopic) -> None:
        if isinstance(change, CreateTopic):
            topic = change.topic
            new = NewTopic(topic.name, topic.partitions, config=topic.settings)
            futures = self._admin.create_topics([new])
        else:
            grown = NewPartitions(change.topic, change.partitions)
            futures = self._admin.create_partitions([grown])
        for future in futures.values():
            try:
                future.result(timeout=_TIMEOUT_S)
            except KafkaException as error:
                if not is_conflict(error):
                    raise
