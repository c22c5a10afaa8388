"""The platform in containers, used only through the doors that its guide names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.containers.engine import Engine
from tests.support import wait_until

SITES = ("plant-a", "plant-b")
BROKERS = ("kafka-plant-a", "kafka-plant-b", "kafka-centre", "kafka-centre-2", "kafka-centre-3")
AIRFLOW = ("api-server", "scheduler", "triggerer", "dag-processor")
SERVICES = {
    *BROKERS,
    *(f"{part}-{site}" for part in ("gateway", "simulator") for site in SITES),
    *(f"airflow-{part}" for part in AIRFLOW),
    *("relay-to-centre", "object-store", "schema-registry", "postgres", "jobs"),
    *("spark-master", "spark-worker-1", "spark-worker-2"),
}
# With room for a machine that others work on too.
UP_S, WELL_S = 1200, 420
Json = dict[str, Any]


@dataclass(frozen=True)
class Platform:
    engine: Engine
    checkout: Path
    project: str
    settings: Mapping[str, str]

    def compose(self, *words: str, timeout_s: float = UP_S, check: bool = True) -> str:
        file = ("-f", str(self.checkout / "docker-compose.yml"), "-p", self.project)
        command = (*self.engine.compose, *file, *words)
        return self.engine.call(
            *command, timeout_s=timeout_s, check=check, more=self.settings
        ).stdout

    def up(self) -> None:
        self.compose("up", "-d", "--no-build")
        for service in sorted(SERVICES):
            self.await_well(service)

    def await_well(self, service: str) -> None:
        what = f"{service} is well"
        wait_until(lambda: self.health(service) == "healthy", WELL_S, what, poll_s=1)

    def containers(self) -> dict[str, Json]:
        """By service, as the engine sees them; those that ended are among them."""
        label = f"label=com.docker.compose.project={self.project}"
        ids = self.engine.docker("ps", "-aq", "--filter", label).split()
        found = json.loads(self.engine.docker("inspect", *ids)) if ids else []
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in found}

    def container(self, service: str) -> Json:
        found: Json = json.loads(self.engine.docker("inspect", self.id_of(service)))[0]
        return found

    def id_of(self, service: str) -> str:
        labels = {"project": self.project, "service": service, "oneoff": "False"}
        wanted = (
            f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()
        )
        found = self.engine.docker("ps", "-aq", *wanted).split()
        assert len(found) == 1, f"{service} has {len(found)} containers"
        return found[0]

    def health(self, service: str) -> str:
        return str(self.container(service)["State"].get("Health", {}).get("Status"))

    def inside(self, service: str, *command: str, check: bool = True) -> str:
        container = self.id_of(service)
        return self.engine.call("docker", "exec", container, *command, check=check).stdout

    def crash(self, service: str) -> None:
        """All processes at once, as when the machine runs out of memory."""
        before = self.container(service)["RestartCount"]
        self.inside(service, "bash", "-c", "kill -9 -1", check=False)
        back = f"{service} is started again"
        wait_until(
            lambda: self.container(service)["RestartCount"] > before, WELL_S, back, poll_s=0.5
        )

    def verify(self) -> Json:
        said = self.compose("run", "--rm", "-T", "cli", "verify", "temperature", "--json")
        result: Json = json.loads(said[said.index("{") :])
        return result

    def status(self) -> Json:
        value: Json = json.loads(self.inside("jobs", ".venv/bin/millrace", "status", "--json"))
        return value

    def rows(self) -> dict[str, int]:
        """Which the job has written since its generation began, by site."""
        text = self.inside("jobs", "cat", "var/jobs/temperature/heartbeat.json", check=False)
        sites = json.loads(text)["sites"] if text else []
        return {site["site"]: site["rows_total"] for site in sites}

    def await_more_rows(self) -> None:
        """Of both sites; a job that was started anew counts from nothing."""
        seen = self.rows()
        flowing: set[str] = set()

        def flows() -> bool:
            for site, count in self.rows().items():
                if count > seen.get(site, 0):
                    flowing.add(site)
                seen[site] = count
            return flowing >= set(SITES)

        wait_until(flows, WELL_S, "rows of both sites", poll_s=2)

    def relayed(self) -> int:
        return int(self.status()["relays"]["to-centre"]["messages"])

    def leftovers(self) -> list[str]:
        """Containers, volumes and networks of this project."""
        label = f"label=com.docker.compose.project={self.project}"
        asked = (("ps", "-aq"), ("volume", "ls", "-q"), ("network", "ls", "-q"))
        return [
            line
            for words in asked
            for line in self.engine.docker(*words, "--filter", label).splitlines()
        ]

    def logs(self, services: Iterable[str] = ()) -> str:
        return self.compose("logs", "--no-color", "--tail", "25", *services, check=False)
