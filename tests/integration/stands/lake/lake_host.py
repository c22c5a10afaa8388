"""Tasks and queries in one Spark session, asked for line by line: a JVM takes seconds to start.

Runs in the lake's environment: python -m tests.integration.stands.lake.lake_host CLASS_PATH...
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.session import build_session
from tests.integration.stands.lake.lake import ANSWER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def answer(spark: SparkSession, asked: dict[str, Any]) -> object:
    if "sql" in asked:
        return [row.asDict() for row in spark.sql(asked["sql"]).collect()]
    module, _, work = asked["work"].partition(":")
    task = _named(asked["spec_class"]).model_validate(asked["spec"])
    return json.loads(getattr(import_module(module), work)(spark, task).model_dump_json())


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def main() -> None:
    jars = tuple(Path(folder) for folder in sys.argv[1:])
    spark = build_session("test", EngineSpec(memory="768m", class_path=jars))
    reply({"ready": True})
    for line in sys.stdin:
        try:
            reply({"result": answer(spark, json.loads(line))})
        except Exception:
            reply({"error": traceback.format_exc()})


def reply(content: dict[str, object]) -> None:
    sys.stdout.write(f"{ANSWER}{json.dumps(content, default=str)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
