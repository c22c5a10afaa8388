"""Brings platform events from the outbox to their topic."""

from __future__ import annotations

import time

from millrace.incidents.io.outbox import Outbox
from millrace.kafka.core.platform_topics import EVENTS
from millrace.kafka.io.sender import Sender
from millrace.sites.core.spec import ClientSettings, SiteSpec


def deliver(
    site: SiteSpec, settings: ClientSettings, outbox: Outbox, timeout_s: float = 10.0
) -> list[str]:
    """What was sent, the oldest first. Raises a SiteError when the rest has to wait.

    An event is removed after the broker has it: whoever is killed in between leaves it to be sent
    again, under the same id.
    """
    sender = Sender(site, settings, EVENTS)
    deadline = time.monotonic() + timeout_s
    sent: list[str] = []
    for event_id in outbox.ids():
        text = outbox.read(event_id)
        if text is not None:
            _send(sender, event_id, text, deadline)
            outbox.remove(event_id)
            sent.append(event_id)
    return sent


def _send(sender: Sender, event_id: str, text: str, deadline: float) -> None:
    sender.send(event_id.encode(), text.encode())
    while sender.outstanding:
        if time.monotonic() > deadline:
            sender.abandon()
            raise sender.trouble()
        sender.poll(0.2)
