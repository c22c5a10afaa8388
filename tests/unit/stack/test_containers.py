"""What each program is told when it has a container of its own."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from millrace.kafka.core.broker_settings import broker_settings, node_host, node_name, nodes
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.processes.core.program import Program
from millrace.relay.io.relay_files import load_clusters, load_relays
from millrace.settings.core.spark_cluster import Cluster, cluster_settings, worker_command
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.stack.io.answers import is_healthy
from millrace.stack.io.containers.container_scripts import render_health, render_script
from millrace.stack.io.containers.container_stack import prepare_containers
from millrace.stack.io.stack_plan import StackPlan

CHECKOUT = Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """As the containers see it."""
    (tmp_path / "infra").mkdir()
    (tmp_path / "dags").mkdir()
    docker = CHECKOUT / "infra" / "docker"
    (tmp_path / "infra" / "local.yaml").symlink_to(docker / "local.yaml")
    for folder in ("sites", "clusters", "relays"):
        (tmp_path / "dags" / folder).symlink_to(docker / folder)
    (tmp_path / "dags" / "pipelines").symlink_to(CHECKOUT / "dags" / "pipelines")
    return tmp_path


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings.from_env({"MILLRACE_HOME": str(home)})


def program(tmp_path: Path, **changes: object) -> Program:
    values = {
        "name": "part",
        "command": ("/bin/echo", "two words"),
        "directory": tmp_path,
        "log": tmp_path / "part.log",
        "priority": 10,
    }
    return Program(**{**values, **changes})  # type: ignore[arg-type]


def test_every_address_in_the_files_is_a_service(settings):
    layout = settings.layout
    for site in [*load_sites(layout), *load_clusters(layout)]:
        for node in nodes(site):
            assert node_host(site, node) == f"kafka-{node_name(site, node)}"
            assert node_host(site, node) in SERVICES
    for host in (layout.bucket.endpoint, layout.registry.url, layout.cluster.url):
        assert host.split("://")[1].split(":")[0] in SERVICES
    assert {f"relay-{relay.name}" for relay in load_relays(layout)} <= SERVICES.keys()


def test_each_service_runs_a_program_of_its_own_name():
    for name, service in SERVICES.items():
        if "entrypoint" not in service:
            assert service["command"] == [name]


def test_each_service_waits_for_who_makes_its_files():
    for name in SERVICES.keys() - {"prepare", "cli"}:
        seen: set[str] = set()
        more = [name]
        while more:
            needs = SERVICES[more.pop()].get("depends_on", {})
            seen |= needs.keys()
            more += needs.keys()
        assert "prepare" in seen, name


def test_a_broker_apart_listens_everywhere_and_is_reached_by_its_name():
    site = SiteSpec(
        name="centre", bootstrap="one:9092,two:9095,three:9098", local=LocalBroker(brokers=3)
    )
    told = broker_settings(site, Platform(Path("/home"), apart=True), 2)
    assert str(told["listeners"]).startswith("CLIENT://0.0.0.0:9095,")
    assert str(told["advertised.listeners"]).startswith("CLIENT://two:9095,")
    assert told["controller.quorum.voters"] == "1@one:9094,2@two:9097,3@three:9100"


def test_a_cluster_apart_is_reached_by_the_names_of_its_parts():
    cluster = Cluster(port=7077, secret_file=Path("/s"), apart=True)
    command = worker_command(("java",), cluster, Path("/p"), 1, Path("/f"))
    assert cluster_settings(cluster)["spark.master"] == "spark://spark-master:7077"
    assert command[command.index("--host") + 1] == "spark-worker-2"


def test_a_script_starts_the_program_as_it_was_said(tmp_path):
    crashed = tmp_path / "left.pid"
    crashed.touch()
    one = program(
        tmp_path,
        command=("/bin/sh", "-c", 'echo "$A|$B|$(pwd)|$(umask)"'),
        environment={"A": "it's $5"},
        stale=(crashed,),
    )
    script = render_script(one, {"B": "b"})
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"it's $5|b|{tmp_path}|0077\n"
    assert not crashed.exists()


@pytest.mark.parametrize(("age_s", "code"), [(0, 0), (3600, 1)])
def test_a_relay_that_says_nothing_is_not_well(tmp_path, age_s, code):
    layout = Platform(tmp_path)
    beat = layout.relay_beat("to-centre")
    beat.parent.mkdir(parents=True)
    beat.touch()
    then = time.time() - age_s
    os.utime(beat, (then, then))
    health = render_health(program(tmp_path, name="relay-to-centre"), layout, 8080)
    assert subprocess.run(["/bin/bash", "-c", health], check=False).returncode == code


@pytest.mark.parametrize(
    ("said", "healthy"),
    [(None, False), ({}, False), ({"scheduler": {"status": "unhealthy"}}, False)],
)
def test_a_component_is_well_when_airflow_says_so(said, healthy):
    assert is_healthy(said, "scheduler") is healthy
    assert is_healthy({"scheduler": {"status": "healthy"}}, "scheduler")


def test_a_stack_of_one_machine_is_not_prepared_for_containers(tmp_path):
    (tmp_path / "dags" / "pipelines").mkdir(parents=True)
    settings = Settings.from_env({"MILLRACE_HOME": str(tmp_path)})
    with pytest.raises(Exception, match="apart: true"):
        prepare_containers(StackPlan.load(settings))
