"""A stand-in for the stream: appends batch after batch, and prints the offset it has reached.

python -m tests.integration.stands.lake.maintain_writer TABLE DAY JARS...; ends when its input does.
"""

from __future__ import annotations

import sys
import threading
from itertools import count
from pathlib import Path

from millrace.lake.core.bronze import COLUMNS
from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.append import WrittenBatch, append_once
from spark_jobs.engine.session import build_session
from spark_jobs.engine.task_main import say

ROWS = 20


def main() -> None:
    table, day, *jars = sys.argv[1:]
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    engine = EngineSpec(memory="512m", class_path=tuple(map(Path, jars)))
    spark = build_session("writer", engine)
    names = [f"CAST({_value(name, day)} AS {kind}) AS `{name}`" for name, kind in COLUMNS]
    for batch in count():
        if ended.is_set():
            return
        rows = spark.range(batch * ROWS, (batch + 1) * ROWS, 1, 1).selectExpr(*names)
        append_once(rows, table, WrittenBatch("writer", batch))
        say(str((batch + 1) * ROWS))


def _value(name: str, day: str) -> str:
    values = {
        "site": "'plant-t'",
        "topic": "'live'",
        "partition": "0",
        "offset": "id",
        "kafka_time": f"TIMESTAMP'{day} 12:00:00' + make_interval(0, 0, 0, 0, 0, 0, id)",
        "value": "encode(concat('v', id), 'utf-8')",
        "ingested_at": "current_timestamp()",
        "day": f"DATE'{day}'",
    }
    return values.get(name, "NULL")


if __name__ == "__main__":
    main()
