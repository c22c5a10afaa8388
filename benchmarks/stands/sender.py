"""Sends messages at a steady rate: python -m benchmarks.stands.sender HOME BOOTSTRAP RATE
SECONDS.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.stands.arena import PARTITIONS, Arena
from benchmarks.stands.messages import message
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import LocalBroker, SiteSpec

_STEP_S = 0.01


def main(home: str, bootstrap: str, rate: int, seconds: int) -> None:
    site = SiteSpec(name="arena", bootstrap=bootstrap, local=LocalBroker())
    arena = Arena(Platform(Path(home)), site)
    producer = Producer({**arena.client("app"), "linger.ms": 5})
    begin, sent = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < seconds:
        for number in range(sent, int(passed * rate)):
            key, value = message(number, int(time.time() * 1000))
            producer.produce("readings", value, key, partition=number % PARTITIONS)
        sent = int(passed * rate)
        producer.poll(0)
        time.sleep(_STEP_S)
    producer.flush(30)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
