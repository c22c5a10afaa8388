"""What Airflow itself connects to: a file for its secrets backend, so that no password is in an
environment, an argument or its database."""

from __future__ import annotations

import json

from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.kafka.core.platform_topics import EVENTS
from millrace.pipelines.io.loader import load_events_site
from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.spec import ClientSettings
from millrace.sites.core.user_names import PLATFORM
from millrace.storage.io.files import write_atomic

_CONSUMER: ClientSettings = {
    "group.id": EVENTS,
    # What was told before the first look is news too.
    "auto.offset.reset": "earliest",
    # Airflow commits what it has written down.
    "enable.auto.commit": False,
    # A triggerer that was killed gives way to the next one.
    "session.timeout.ms": 10_000,
}


def write_connections(layout: Platform) -> None:
    write_atomic(layout.airflow_connections, json.dumps(_connections(layout), indent=2))


def _connections(layout: Platform) -> dict[str, object]:
    site = load_events_site(layout)
    if site is None:
        return {}
    user = ensure_user(layout, site.name, PLATFORM)
    client = librdkafka_settings(site, layout.ca, user.username, user.password)
    return {EVENTS: {"conn_type": "kafka", "extra_dejson": {**client, **_CONSUMER}}}
