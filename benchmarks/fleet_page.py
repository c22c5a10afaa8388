"""What the Fleet page costs its server: python -m benchmarks.fleet_page [PIPELINES].

Runs in the control environment, against a folder of its own with so many pipelines of ten sites.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.fleet.io.status_view import StatusView
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from millrace.jobs.core.journal import Journal
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform

SITES, TURNS = 10, 20
PIPELINE = """\
name: {name}
sites: all
topics: [readings]
format: json
table: {name}
"""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(prefix="millrace-fleet-") as folder:
        layout = Platform(Path(folder))
        for number in range(count):
            write_down(layout, f"p{number}")
        view = StatusView(layout)
        first = turn(view)
        later = [turn(view) for _ in range(TURNS)]
    sys.stdout.write(
        f"{count} pipelines of {SITES} sites: first {first * 1000:.0f} ms, then"
        f" {statistics.median(later) * 1000:.0f} ms, at most {max(later) * 1000:.0f} ms\n"
    )


def turn(view: StatusView) -> float:
    began = time.perf_counter()
    for spec in view.pipelines().values():
        view.card(spec).model_dump_json()
    return time.perf_counter() - began


def write_down(layout: Platform, name: str) -> None:
    layout.pipelines.mkdir(parents=True, exist_ok=True)
    (layout.pipelines / f"{name}.yaml").write_text(PIPELINE.format(name=name))
    now = datetime.now(UTC)
    beat = IngestBeat(
        job=name,
        generation=1,
        fingerprint="f",
        phase=Phase.RUNNING,
        at=now,
        sites=tuple(site(f"plant-{number}", now) for number in range(SITES)),
    )
    journal = Journal().noting(now, Condition.HEALTHY, "running")
    for minute in range(60):
        journal = journal.sampling(now + timedelta(minutes=minute), beat)
    mailbox = Mailbox(layout.job(name))
    mailbox.write_heartbeat(beat)
    mailbox.write_journal(journal)


def site(name: str, now: datetime) -> SiteBeat:
    parts = (
        PartitionLag(
            topic="readings", partition=n, position=90, end=100, oldest_waiting=now, newest_at=now
        )
        for n in range(2)
    )
    return SiteBeat(
        site=name,
        batch=1,
        rows_per_s=10,
        rows_total=100,
        last_batch_at=now,
        reachable=True,
        partitions=tuple(parts),
    )


if __name__ == "__main__":
    main()
