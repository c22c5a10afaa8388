"""What relays wrote down of themselves."""

from __future__ import annotations

from millrace.core.layout import Layout
from millrace.core.relay_beat import RelayBeat
from millrace.state.files import read_text, write_atomic


def read_relay_beat(layout: Layout, name: str) -> RelayBeat | None:
    text = read_text(layout.relay_beat(name))
    return RelayBeat.model_validate_json(text) if text else None


def write_relay_beat(layout: Layout, beat: RelayBeat) -> None:
    write_atomic(layout.relay_beat(beat.relay), beat.model_dump_json())
