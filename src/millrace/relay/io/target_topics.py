"""Makes room at the target for what sites have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from millrace.kafka.io.client_errors import Watch, watched
from millrace.provisioning.core.site_rights import CreateTopic, GrowTopic
from millrace.provisioning.io.admin import is_conflict
from millrace.relay.core.relay_plan import plan_topics
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.ids import ask_ids
from millrace.sites.core.spec import ClientSettings, SiteSpec

_TIMEOUT_S = 15.0


class TargetTopics:
    """Asked by the readers of all sites, each from its own thread."""

    def __init__(self, relay: RelaySpec, target: SiteSpec, settings: ClientSettings) -> None:
        self._relay = relay
        self._watch = Watch(target, settings)
        self._admin = AdminClient(watched(settings, self._watch))
        self._lock = threading.Lock()

    def make_room(
        self, site: str, source: Mapping[str, int], say: Callable[[str], None]
    ) -> dict[str, str]:
        """The ids of the topics at the target, by the site's names. `source`: the site's topics
        with their partitions. What was done is said, a line each."""
        with self._lock:
            try:
                there = self._partitions()
                for change in plan_topics(self._relay, site, source, there):
                    self._apply(change)
                    say(str(change))
                names = {topic: self._relay.target(site, topic) for topic in source}
                ids = ask_ids(self._admin, names.values())
            except KafkaException as error:
                self._admin.poll(0)  # until now nobody let the watch hear the reason
                raise self._watch.explain(error.args[0], site) from error
        return {topic: ids[name] for topic, name in names.items() if name in ids}

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
