"""What a topic had that was deleted: Kafka keeps its files for a minute, and reads them itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.faults.stands.load import parse
from benchmarks.faults.stands.tally import Numbered
from millrace.platform.core.platform import Platform
from tests.support import wait_until

_PAYLOAD = re.compile(rb" payload: (\{.*\})$")


def await_deleted(data: Path, topic: str, partitions: int, but_for: Iterable[Path]) -> list[Path]:
    """The folders of a topic that was deleted a moment ago; `but_for`: earlier ones of its name."""

    def found() -> list[Path]:
        return sorted({*data.glob(f"{topic}-*-delete")} - {*but_for})

    wait_until(lambda: len(found()) == partitions, 15, "deleted at the broker")
    return found()


def messages_in(layout: Platform, folders: Iterable[Path]) -> Numbered:
    """All that was ever written there, read by no client."""
    segments = [str(file) for folder in folders for file in sorted(folder.glob("*.log"))]
    command = [
        *("java", "-Xmx256m", "-cp", f"{layout.jars('kafka')}/*"),
        "org.apache.kafka.tools.DumpLogSegments",
        *("--print-data-log", "--files", ",".join(segments)),
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    return set(numbered(done.stdout.splitlines()))


def numbered(lines: Iterable[bytes]) -> Iterator[tuple[str, int]]:
    for line in lines:
        found = _PAYLOAD.search(line)
        if found and (message := parse(found[1])):
            yield message.key, message.number
