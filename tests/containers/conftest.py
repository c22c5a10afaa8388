"""One engine, one set of images, one platform for all tests; nothing of them is left afterwards."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.containers.compose import Platform
from tests.containers.engine import Engine, find_engine, start_engine
from tests.containers.images import LOCAL_BASE, TARGETS, build, find_base
from tests.support import STACK_PORTS, free_ports

CHECKOUT = Path(__file__).resolve().parents[2]
VERSION = "test"


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="millrace-containers-")).resolve()
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def engine(folder: Path) -> Iterator[Engine]:
    engine = find_engine() or start_engine(folder)
    yield engine
    engine.end()


@pytest.fixture(scope="session")
def names() -> str:
    """What the images of this session are called before the slash, and its project too."""
    return f"millrace-{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="session")
def base(engine: Engine, folder: Path) -> Iterator[str]:
    before = engine.docker("images", "--quiet", LOCAL_BASE)
    yield find_base(engine, CHECKOUT, folder)
    if not before:
        engine.call("docker", "rmi", LOCAL_BASE, check=False)


@pytest.fixture(scope="session")
def images(engine: Engine, base: str, names: str) -> Iterator[Mapping[str, str]]:
    tags = {target: f"{names}/{target}:{VERSION}" for target in TARGETS}
    for target, tag in tags.items():
        build(engine, CHECKOUT, target, tag, {"BASE": base})
    yield tags
    engine.call("docker", "rmi", "--force", *tags.values(), check=False)


@pytest.fixture(scope="session")
def down(engine: Engine, images: Mapping[str, str], names: str) -> Iterator[Platform]:
    """Before it is brought up."""
    first = free_ports(3, STACK_PORTS)
    ports = ("MILLRACE_AIRFLOW", "MILLRACE_GATEWAY_PLANT_A", "MILLRACE_GATEWAY_PLANT_B")
    settings = {name: str(first + number) for number, name in enumerate(ports)}
    settings |= {"MILLRACE_IMAGES": names, "MILLRACE_VERSION": VERSION}
    platform = Platform(engine, CHECKOUT, names, settings)
    yield platform
    platform.compose("down", "--volumes", "--timeout", "30", check=False)


@pytest.fixture(scope="session")
def platform(down: Platform) -> Platform:
    down.up()
    return down


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test that failed tells what the containers said last."""
    report = yield
    made = getattr(item, "funcargs", {}).get("platform")
    if report.failed and isinstance(made, Platform):
        report.sections.append(("containers", made.logs()))
    return report
