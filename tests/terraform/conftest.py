"""AWS on loopback, a copy of the checkout, and one environment that is applied in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from millrace.cloud.io.release import pack
from millrace.platform.core.platform import Platform
from tests.support import free_ports, wait_until
from tests.terraform.support.cloud import REGION, Cloud
from tests.terraform.support.tool import (
    FIGURES,
    Terraform,
    UnfitError,
    check_terraform,
    cli_environment,
    find_tflint,
)

CHECKOUT = Path(__file__).parents[2]
MODULES = sorted(
    folder.parents[1].name for folder in CHECKOUT.glob("terraform/modules/*/tests/*.hcl")
)
# What the environments read.
_COPIED = ("terraform", "dags", "schemas", "plugins", "src", "expectations")
_COPIED_FILES = ("pyproject.toml", "uv.lock")
_TOLD = ("apply", "destroy", "plan")
_LEFT = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "__pycache__", "*.tfstate*")


def pytest_sessionstart() -> None:
    try:
        check_terraform()
        find_tflint()
    except UnfitError as error:
        pytest.exit(str(error), returncode=3)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What terraform/README.md states."""
    shown = [one for one in FIGURES if one.command in _TOLD and one.counts]
    if shown:
        terminalreporter.section("what Terraform took")
    for one in shown:
        where = "/".join(one.folder.parts[one.folder.parts.index("terraform") + 1 :])
        terminalreporter.write_line(
            f"{where:<18} {one.command:<8} {one.seconds:5.0f} s {one.peak_mb:5.0f} MB  {one.counts}"
        )


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of what Terraform reads, because it writes beside it."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in _COPIED:
        shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=_LEFT)
    for name in _COPIED_FILES:
        shutil.copy(CHECKOUT / name, folder)
    layout = Platform(folder)
    pipeline = layout.pipelines / "temperature.yaml"
    pipeline.write_text(pipeline.read_text().replace("runner: local", "runner: emr-serverless"))
    pack(layout)
    return folder


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return cli_environment(tmp_path_factory.mktemp("tool"))


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = f"http://127.0.0.1:{(port := free_ports(1))}"
    log = tmp_path_factory.mktemp("aws") / "aws.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.terraform.fake_aws", str(port)],
            cwd=CHECKOUT,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: process.poll() is not None or _answers(url), what=f"ready, see {log}")
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/moto-api/data.json", timeout=5).close()  # noqa: S310 - loopback
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


@pytest.fixture(scope="session")
def cloud(endpoint: str, copy: Path, tool: dict[str, str]) -> Cloud:
    return Cloud(
        copy,
        {
            **tool,
            "AWS_ENDPOINT_URL": endpoint,
            # Some names get a part before them, as in api.127.0.0.1, which nobody resolves.
            "HTTP_PROXY": endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        },
    )


@pytest.fixture(scope="session", autouse=True)
def _applying(request: pytest.FixtureRequest) -> Iterator[Future[Terraform] | None]:
    """Begins at once: AWS's waiting is Terraform's, and other tests need the time."""
    is_wanted = any("dev" in item.fixturenames for item in request.session.items)
    with ThreadPoolExecutor(1) as pool:
        cloud = request.getfixturevalue("cloud") if is_wanted else None
        yield pool.submit(cloud.bring_up, "dev") if cloud else None


@pytest.fixture(scope="session")
def dev(_applying: Future[Terraform]) -> Terraform:
    """The environment `dev`, applied."""
    return _applying.result()
