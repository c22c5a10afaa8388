"""The lake seen and worked on by a test: a host process with a Spark session of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec

CHECKOUT = Path(__file__).parents[4]
# In front of an answer; other lines are progress.
ANSWER = "=> "
Result = TypeVar("Result", bound=Frozen)


@dataclass
class Lake:
    process: subprocess.Popen[str]

    @classmethod
    def start(cls, log: Path) -> Lake:
        python = CHECKOUT / ".venv-lake" / "bin" / "python"
        jars = [str(CHECKOUT / ".jars" / name) for name in ("spark", "jvm")]
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [python, "-m", "tests.integration.stands.lake.lake_host", *jars],
                cwd=CHECKOUT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        return cls(process)

    def sql(self, text: str) -> list[dict[str, Any]]:
        self.ask({"sql": text})
        return self.answer()

    def work(self, work: str, task: TaskSpec, result: type[Result]) -> Result:
        self.begin(work, task)
        return self.end(result)

    def begin(self, work: str, task: TaskSpec) -> None:
        model = type(task)
        spec_class = f"{model.__module__}:{model.__qualname__}"
        spec = json.loads(task.model_dump_json())
        self.ask({"work": work, "spec_class": spec_class, "spec": spec})

    def end(self, result: type[Result]) -> Result:
        return result.model_validate(self.answer())

    def ask(self, asked: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The next answer; whoever asks a new host first waits for its being ready too."""
        for line in self.process.stdout or ():
            content = json.loads(line.removeprefix(ANSWER)) if line.startswith(ANSWER) else {}
            assert "error" not in content, content["error"]
            if "result" in content:
                return content["result"]
        raise AssertionError(f"the host ended with {self.process.wait()}")

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
