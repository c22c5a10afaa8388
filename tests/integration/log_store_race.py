"""Several JVMs contend for each version of one log; what was acknowledged must be what is there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PYSPARK_JARS = CHECKOUT / ".venv-lake/lib/python3.11/site-packages/pyspark/jars"
CLASS_PATH = f"{PYSPARK_JARS}/*:{CHECKOUT}/.jars/spark/*:{CHECKOUT}/.jars/jvm/*"
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
RACERS = ("red", "green", "blue")


@dataclass
class Outcome:
    """What one racer was told of each version."""

    name: str
    acked: dict[int, int] = field(default_factory=dict)  # version -> microseconds
    refused: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, name: str, text: str) -> Outcome:
        outcome = cls(name)
        for line in text.splitlines():
            verdict, _, rest = line.partition(" ")
            if verdict == "acked":
                version, took_us = rest.split()
                outcome.acked[int(version)] = int(took_us)
            elif verdict == "refused":
                outcome.refused.append(int(rest))
            elif verdict == "failed":
                outcome.failed.append(rest)
        return outcome


@dataclass(frozen=True)
class Race:
    store: str
    log: str
    # Java classes of the racer, and its Hadoop settings as a properties file.
    classes: Path
    settings: Path
    versions: int = 200
    slot_ms: int = 10

    def run(self) -> list[Outcome]:
        with ExitStack() as stack:
            racers = {name: stack.enter_context(self._racer(name)) for name in RACERS}
            for racer in racers.values():
                assert racer.stdout
                assert racer.stdout.readline() == "ready\n", racer.stdout.read()
            begin = f"{int(time.time() * 1000) + 200}\n"
            for racer in racers.values():
                assert racer.stdin
                racer.stdin.write(begin)
                racer.stdin.flush()
            return [Outcome.parse(name, _rest(racer)) for name, racer in racers.items()]

    @contextmanager
    def _racer(self, name: str) -> Iterator[subprocess.Popen[str]]:
        words = (self.store, self.log, name, self.versions, self.slot_ms, self.settings)
        racer = subprocess.Popen(
            [*_JAVA, "-cp", f"{self.classes}:{CLASS_PATH}", "LogStoreRacer", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield racer
        finally:
            racer.kill()
            racer.wait()


def _rest(racer: subprocess.Popen[str]) -> str:
    text, _ = racer.communicate(timeout=120)
    assert racer.returncode == 0, text
    return text


def compile_racer(folder: Path) -> Path:
    source = CHECKOUT / "tests" / "integration" / "LogStoreRacer.java"
    command = ("javac", "-proc:none", "-cp", CLASS_PATH, "-d", str(folder), str(source))
    subprocess.run(command, check=True)
    return folder


def lost_commits(outcomes: list[Outcome], read: Callable[[int], str | None]) -> int:
    """Acknowledged, and yet somebody else's, or nobody's, stands there."""
    return sum(
        f'"{outcome.name}"' not in (read(version) or "")
        for outcome in outcomes
        for version in outcome.acked
    )
