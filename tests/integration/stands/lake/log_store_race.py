"""Several JVMs contend for each version of one log; what was acknowledged must be what is there."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).parents[4]
PYSPARK_JARS = CHECKOUT / ".venv-lake/lib/python3.11/site-packages/pyspark/jars"
CLASS_PATH = f"{PYSPARK_JARS}/*:{CHECKOUT}/.jars/spark/*:{CHECKOUT}/.jars/jvm/*"
RACERS = ("red", "green", "blue")


@dataclass
class Outcome:
    """What one racer was told of each version, and after how many microseconds."""

    name: str
    acked: dict[int, int] = field(default_factory=dict)
    refused: dict[int, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        verdict, _, rest = line.strip().partition(" ")
        if verdict in ("acked", "refused"):
            version, took_us = rest.split()
            getattr(self, verdict)[int(version)] = int(took_us)
        else:
            self.failed.append(line)


@dataclass
class Racer:
    name: str
    process: subprocess.Popen[str]

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


@dataclass(frozen=True)
class Race:
    """Version after version, all racers start at once, and the next when all have their answer."""

    store: str
    log: str
    # Java classes of the racer, and its Hadoop settings as a properties file.
    classes: Path
    settings: Path
    java_options: tuple[str, ...] = ()
    versions: int = 200
    names: tuple[str, ...] = RACERS

    def run(self) -> list[Outcome]:
        outcomes = {name: Outcome(name) for name in self.names}
        with ExitStack() as stack:
            racers = [stack.enter_context(self._racer(name)) for name in self.names]
            assert [racer.read() for racer in racers] == ["ready\n"] * len(racers)
            for _ in range(self.versions):
                for racer in racers:
                    racer.write("go\n")
                for racer in racers:
                    outcomes[racer.name].note(racer.read())
        return list(outcomes.values())

    @contextmanager
    def _racer(self, name: str) -> Iterator[Racer]:
        java = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *self.java_options)
        words = ("LogStoreRacer", self.store, self.log, name, str(self.settings))
        process = subprocess.Popen(
            [*java, "-cp", f"{self.classes}:{CLASS_PATH}", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield Racer(name, process)
        finally:
            process.kill()
            process.communicate()


def compile_racer(folder: Path) -> Path:
    source = CHECKOUT / "tests" / "integration" / "stands" / "lake" / "LogStoreRacer.java"
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
