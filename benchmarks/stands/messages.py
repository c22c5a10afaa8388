"""The messages of every benchmark: JSON of 250 bytes, one in a thousand out of range."""

from __future__ import annotations

import json

SIZE = 250
SENSORS = 500
_REFUSED_EVERY = 1_000


def message(number: int, at_ms: int) -> tuple[bytes, bytes]:
    """Key and value; the same on every run but for the time."""
    sensor = f"plant-a-s{number % SENSORS}"
    reading = {
        "sensor_id": sensor,
        "timestamp": at_ms,
        "temperature": 999.0 if number % _REFUSED_EVERY == 0 else 20 + number % 1000 / 100,
        "unit": "C",
        "humidity": number % 100,
        "status": {"battery": number % 97 / 97, "firmware": "1.4.2"},
        "note": "",
    }
    empty = len(json.dumps(reading))
    reading["note"] = "x" * (SIZE - empty)
    return sensor.encode(), json.dumps(reading).encode()
