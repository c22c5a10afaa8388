"""A scratch copy of the checkout, used only through the doors that the README names."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from deltalake import DeltaTable, QueryBuilder

from millrace.platform.core.platform import Platform
from millrace.settings.core.spark_cluster import MASTER, Cluster
from millrace.settings.core.spark_cluster import PORTS_NEEDED as CLUSTER_PORTS
from millrace.storage.core.store_server import PORTS_NEEDED as STORE_PORTS
from tests.support import STACK_PORTS, free_ports

SITES = ("plant-a", "plant-b")
# Of three brokers, and of one that may be added.
CENTRE_PORTS = 12
# A user's shell has none of these; the make that runs the tests does.
_NOT_INHERITED = {"MILLRACE_HOME", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
Json = dict[str, Any]


def copy_checkout(source: Path, target: Path) -> None:
    """What git knows or would take, so that nothing that was built comes along."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=source, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


@dataclass(frozen=True)
class Stack:
    home: Path

    @classmethod
    def copied(cls, source: Path, home: Path) -> Stack:
        copy_checkout(source, home)
        stack = cls(home)
        first = free_ports(12 + STORE_PORTS + CLUSTER_PORTS + CENTRE_PORTS, STACK_PORTS)
        ports = {"airflow_port": first + 6, "store_port": first + 7}
        ports["cluster_port"] = ports["store_port"] + STORE_PORTS
        gateways = ports["cluster_port"] + CLUSTER_PORTS + CENTRE_PORTS
        ports["registry_port"] = gateways + 4
        # Most of these JVMs end before the best code would pay.
        quick = '"-XX:+UseParallelGC",\n    "-XX:TieredStopAtLevel=1",'
        stack.edit("src/millrace/settings/core/engine.py", '"-XX:+UseParallelGC",', quick)
        # As the README says for data of one's own.
        stack.edit("dags/sites/plant-a.yaml", "client: {}", "direct: true\nclient: {}")
        stack.edit("dags/sites/plant-a.yaml", "port: 19096", f"port: {gateways}")
        stack.edit("dags/sites/plant-b.yaml", "port: 19196", f"port: {gateways + 2}")
        own = "\n".join(f"{name}: {port}" for name, port in ports.items())
        stack.edit("infra/local.yaml", "airflow_port: 8080", own)
        stack.edit("dags/sites/plant-a.yaml", "127.0.0.1:19092", f"127.0.0.1:{first}")
        stack.edit("dags/sites/plant-b.yaml", "127.0.0.1:19192", f"127.0.0.1:{first + 3}")
        for number in range(0, CENTRE_PORTS - 3, 3):
            port = ports["cluster_port"] + CLUSTER_PORTS + number
            stack.edit("dags/clusters/centre.yaml", str(19292 + number), str(port))
        return stack

    def edit(self, file: str, old: str, new: str) -> None:
        text = (self.home / file).read_text()
        assert old in text, f"{file} holds no {old!r}"
        (self.home / file).write_text(text.replace(old, new))

    def call(self, *command: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={key: value for key, value in os.environ.items() if key not in _NOT_INHERITED},
        )

    def make(self, *words: str) -> str:
        done = self.call("make", *words)
        assert done.returncode == 0, (
            f"make {' '.join(words)}\n{done.stdout}\n{done.stderr}\n{self.logs()}"
        )
        return done.stdout

    def millrace(self, *arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        return self.call(".venv/bin/millrace", *arguments, timeout_s=timeout_s)

    def asked(self, *arguments: str, timeout_s: float = 60) -> Json:
        done = self.millrace(*arguments, "--json", timeout_s=timeout_s)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        value: Json = json.loads(done.stdout)
        return value

    def status(self) -> Json:
        return self.asked("status")

    def ports(self) -> dict[str, int]:
        """The first of each program that has some."""
        return {one["name"]: one["port"] for one in self.status()["processes"] if one["port"]}

    def cluster(self) -> Cluster:
        layout = Platform(self.home)
        return Cluster(port=self.ports()[MASTER], secret_file=layout.cluster_secret)

    def pipeline(self) -> Json:
        value: Json = self.status()["pipelines"]["temperature"]
        return value

    def heartbeat(self, pipeline: str = "temperature") -> Json:
        file = self.home / "var" / "jobs" / pipeline / "heartbeat.json"
        value: Json = json.loads(file.read_text())
        return value

    def phase(self, pipeline: str) -> str:
        """Empty before the job's first word."""
        try:
            return str(self.heartbeat(pipeline)["phase"])
        except FileNotFoundError:
            return ""

    def runs_as(self, generation: int) -> bool:
        beat = self.heartbeat()
        return bool(beat["generation"] >= generation and beat["phase"] == "running")

    def pid_of(self, name: str) -> int:
        found = [p["pid"] for p in self.status()["processes"] if p["name"] == name]
        assert found, f"there is no {name}"
        assert found[0], f"{name} does not run"
        return int(found[0])

    def job_processes(self, job_id: str = "temperature") -> list[psutil.Process]:
        """Every process of a job of this copy, of whatever kind and however it was started."""
        job = str(self.home / "var" / "jobs" / job_id / "job.json")
        return [
            p
            for p in self.processes()
            if (words := _words(p))[1:2] == ["-m"] and words[3:4] == [job]
        ]

    def processes(self) -> list[psutil.Process]:
        """All that runs out of this copy, found without the product's help."""
        return [p for p in psutil.process_iter() if self._is_ours(p)]

    def _is_ours(self, process: psutil.Process) -> bool:
        home = str(self.home)
        try:
            words = process.cmdline()
            return process.cwd().startswith(home) or any(home in word for word in words)
        except psutil.Error:
            return False

    def bronze(self) -> Counter[tuple[str, str, int, int]]:
        """How often each (site, topic, partition, offset) stands in the table."""
        table = DeltaTable(str(self.home / "var" / "lake" / "bronze" / "temperature"))
        query = 'SELECT site, topic, "partition", "offset" FROM t'
        batches = QueryBuilder().register("t", table).execute(query)
        rows: Counter[tuple[str, str, int, int]] = Counter()
        for batch in batches:
            rows.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        return rows

    def logs(self) -> str:
        files = sorted((self.home / "var" / "log").glob("*.log"))
        return "\n".join(f"==> {f.name}\n{_tail(f)}" for f in files)

    def airflow(self) -> Airflow:
        seen = self.status()["airflow"]
        context = ssl.create_default_context(cafile=str(self.home / "var" / "pki" / "ca.pem"))
        client = httpx.Client(base_url=seen["url"], verify=context, timeout=30)
        login = {
            "username": seen["user"],
            "password": Path(seen["password_file"]).read_text().strip(),
        }
        answer = client.post("/auth/token", json=login).raise_for_status()
        client.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
        return Airflow(client)


@dataclass(frozen=True)
class Airflow:
    """Airflow's REST interface, as its page uses it."""

    client: httpx.Client
    dag: str = "/api/v2/dags/pipeline.temperature"

    def get(self, path: str, **query: Any) -> Json:
        value: Json = self.client.get(path, params=query).raise_for_status().json()
        return value

    def last_run(self) -> str:
        runs = self.get(f"{self.dag}/dagRuns", order_by="-id", limit=1)["dag_runs"]
        return str(runs[0]["dag_run_id"])

    def task(self, name: str) -> str:
        return f"{self.dag}/dagRuns/{self.last_run()}/taskInstances/{name}"

    def of(self, job: str, kind: str = "pipeline") -> Airflow:
        return Airflow(self.client, dag=f"/api/v2/dags/{kind}.{job}")

    def state_of(self, name: str) -> str:
        return str(self.get(self.task(name))["state"])

    def log_of(self, name: str) -> str:
        task = self.task(name)
        attempt = self.get(task)["try_number"] or 1
        return json.dumps(self.get(f"{task}/logs/{attempt}"))

    def mark_failed(self, name: str) -> None:
        self.client.patch(self.task(name), json={"new_state": "failed"}).raise_for_status()

    def clear(self, name: str) -> None:
        """With what comes after it, as the page does it."""
        request = {
            "dry_run": False,
            "dag_run_id": self.last_run(),
            "task_ids": [name],
            "include_downstream": True,
            "only_failed": False,
            "reset_dag_runs": True,
        }
        self.client.post(f"{self.dag}/clearTaskInstances", json=request).raise_for_status()

    def pause(self, *, paused: bool, dag: str = "") -> None:
        path = f"/api/v2/dags/{dag}" if dag else self.dag
        self.client.patch(path, json={"is_paused": paused}).raise_for_status()

    def has(self, dag: str) -> bool:
        return self.client.get(f"/api/v2/dags/{dag}").is_success


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Those that have ended meanwhile are as they should be."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _tail(file: Path, lines: int = 30) -> str:
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])
