"""What relays wrote down of themselves."""

from __future__ import annotations

from millrace.relay.core.beat import RelayBeat
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import read_text, write_atomic


def read_relay_beat(layout: Paths, name: str) -> RelayBeat | None:
    text = read_text(layout.relay_beat(name))
    return RelayBeat.model_validate_json(text) if text else None


def write_relay_beat(layout: Paths, beat: RelayBeat) -> None:
    write_atomic(layout.relay_beat(beat.relay), beat.model_dump_json())
