"""Watches platform events as the triggerer does; each is a line of JSON on its output.

Called with the number of events after which it ends, without having written down any; without
one it goes on, and what it heard counts as written down.
"""

from __future__ import annotations

import asyncio
import json
import sys


async def watch(ends_after: int | None) -> None:
    from airflow.triggers.shared_stream import SharedStreamManager

    from millrace_airflow.incidents.event_triggers import EventsTrigger

    trigger, manager = EventsTrigger(), SharedStreamManager()
    key = trigger.shared_stream_key()
    stream = manager.subscribe(trigger_id=1, trigger=trigger, key=key)
    heard = 0
    async for event in trigger.filter_shared_stream(stream):
        heard += 1
        seq = manager.bind_pending_event(trigger_id=1, key=key)
        sys.stdout.write(json.dumps(event.payload) + "\n")
        sys.stdout.flush()
        if ends_after is None and seq is not None:
            manager.confirm_persisted([seq])
        if heard == ends_after:
            break
    await manager.stop_all()


if __name__ == "__main__":
    asyncio.run(watch(int(sys.argv[1]) if sys.argv[1:] else None))
