"""Which incarnation of each topic a broker has: its id, given once and never again."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from millrace.base.errors import TransientError
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.kafka.io.client_errors import SiteError, Watch, watched
from millrace.sites.core.spec import ClientSettings, SiteSpec
from spark_jobs.kafka.login import KafkaLogin

_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)  # noqa: SLF001 - its name
_LIGHT: ClientSettings = {"reconnect.backoff.max.ms": 5_000, "log.connection.close": False}


class TopicAbsentError(TransientError):
    def __init__(self, site: str, topic: str) -> None:
        super().__init__(
            f"site {site!r} has no topic {topic!r} at the moment; the pipeline's provision task"
            " makes it, and its job waits for it"
        )


class TopicIds:
    """Stays connected, so that an answer takes one round trip; threads are answered in turn.

    It is the first to speak to a site, so what a person has to put right there (a password, a
    right, a certificate) is heard here: librdkafka itself would only say that time is up.
    """

    def __init__(self, site: SiteInput, timeout_s: float = 5.0) -> None:
        self._site = site
        self._timeout_s = timeout_s
        self._login = KafkaLogin(site)
        self._client: AdminClient | None = None
        self._lock = threading.Lock()
        self._settings = {**_LIGHT, **site.librdkafka}
        bootstrap = str(site.librdkafka["bootstrap.servers"])
        self._watch = Watch(SiteSpec(name=site.site, bootstrap=bootstrap), self._settings)

    def __call__(self, topics: Iterable[str] | None = None) -> dict[str, str]:
        """Of all the site's topics, or of some; raises a SiteError or TopicAbsentError where one
        is not known."""
        wanted = list(self._site.topics if topics is None else topics)
        if not wanted:
            return {}
        with self._lock:
            asked = self._connect().describe_topics(
                TopicCollection(wanted), request_timeout=self._timeout_s
            )
            return {topic: self._id(topic, answer) for topic, answer in asked.items()}

    def _id(self, topic: str, answer: object) -> str:
        try:
            # As Kafka's own tools write it; librdkafka has the other alphabet of Base64.
            text = str(answer.result(self._timeout_s + 1).topic_id)  # type: ignore[attr-defined]
        except KafkaException as error:
            if error.args[0].code() in _ABSENT:
                raise TopicAbsentError(self._site.site, topic) from error
            raise self._explained(error.args[0], topic) from error
        except TimeoutError as error:
            raise self._explained(None, topic) from error
        self._watch.forget()
        return text.replace("+", "-").replace("/", "_")

    def _explained(self, error: KafkaError | None, topic: str) -> SiteError:
        self._connect().poll(0)  # the watch hears the reason now
        return self._watch.explain(error, topic)

    def _connect(self) -> AdminClient:
        if self._client is None:
            self._settings.update(self._login.settings())
            self._client = AdminClient(watched(self._settings, self._watch))
        else:
            self._login.renew(self._client)
        return self._client
