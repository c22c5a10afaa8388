"""AWS on loopback, a copy of the checkout, and one environment that is applied in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import free_ports, wait_until
from tests.terraform.cloud import Cloud
from tests.terraform.tool import Terraform, UnfitError, check_terraform, cli_environment

CHECKOUT = Path(__file__).parents[2]
MODULES = sorted(folder.parents[1].name for folder in CHECKOUT.glob("terraform/modules/*/tests/*.hcl"))
# What the environments read.
_COPIED = ("terraform", "dags", "schemas", "plugins", "src", "expectations", "pyproject.toml")
_LEFT = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "__pycache__", "*.tfstate*")
REGION = "eu-central-1"


def pytest_sessionstart() -> None:
    try:
        check_terraform()
    except UnfitError as error:
        pytest.exit(str(error), returncode=3)


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of what Terraform reads, because it writes beside it."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in _COPIED:
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=_LEFT)
        else:
            shutil.copy(CHECKOUT / name, folder / name)
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
    os.environ.pop("AWS_PROFILE", None)
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    aws = {"AWS_ENDPOINT_URL": endpoint, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": REGION}
    return Cloud(copy, {**tool, **keys, **aws})


@pytest.fixture(scope="session", autouse=True)
def _applying(cloud: Cloud) -> Iterator[Future[Terraform]]:
    """Begins at once: AWS's waiting is Terraform's, and other tests need the time."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(cloud.bring_up, "dev")


@pytest.fixture(scope="session")
def dev(_applying: Future[Terraform]) -> Terraform:
    """The environment `dev`, applied."""
    return _applying.result()
