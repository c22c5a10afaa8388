"""What Terraform takes to the cloud, packed into var/release."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.markers import Marker

from millrace.cloud.core.terraform_input import plan_cloud
from millrace.gateway.bundle.core.lock_requirements import closure, dependencies, lines, pinned
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.pipelines.io.refining import check_quality
from millrace.platform.core.platform import Platform

# What plugins import and a managed Airflow has not, or too old.
_ENGINES = ("aws-msk-iam-sasl-signer-python", "boto3", "confluent-kafka", "deltalake", "fastavro")
# The group of uv.lock that stands for a managed Airflow.
_MANAGED = "airflow-3-0"
_LEFT = "__pycache__"
# Of the checkout, what DAGs read beside dags.
_HOME = ("expectations", "schemas")
# Where Airflow has what is packed into home.
_CONSTRAINTS = "/usr/local/airflow/dags/home/constraints.txt"
# Equal files make an equal archive, whenever they are packed.
_MOMENT = (1980, 1, 1, 0, 0, 0)


def pack(layout: Platform) -> str:
    """Returns the release: the version, and a digest of all that Airflow will run."""
    return _pack(layout, layout.release)


def name_release(layout: Platform) -> str:
    """What `pack` would return; nothing is kept."""
    with tempfile.TemporaryDirectory() as folder:
        return _pack(layout, Path(folder) / "release")


def _pack(layout: Platform, target: Path) -> str:
    pipelines, sites = load_pipelines(layout, run_here=False), load_sites(layout)
    check_quality(layout, pipelines)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    plugins, requirements = target / "plugins.zip", target / "requirements.txt"
    _zip(plugins, layout)
    home = _pack_home(layout, target)
    _write_requirements(requirements, home / "constraints.txt", layout.home)
    packed = (plugins, requirements, *_files(home), *_files(layout.dags))
    name = f"{version('millrace')}-{_digest(*packed)}"
    plan = plan_cloud(name, pipelines, sites)
    (target / "plan.json").write_text(plan.model_dump_json(indent=2))
    return name


def _zip(target: Path, layout: Platform) -> None:
    """Airflow imports what lies in plugins, so our package lies there too."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (layout.home / "plugins", layout.home / "src"):
            for file in _files(folder):
                _add(archive, file.relative_to(folder).as_posix(), file.read_bytes())
        for name, text in _installed(layout.home).items():
            _add(archive, name, text.encode())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _MOMENT), content, zipfile.ZIP_DEFLATED)


def _installed(home: Path) -> dict[str, str]:
    """What an installation would write down: by it runners and kinds of jobs are found."""
    project = _project(home)
    folder = f"{project['name']}-{project['version']}.dist-info"
    points = "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in found.items())
        for group, found in project["entry-points"].items()
    )
    return {
        f"{folder}/METADATA": (
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        ),
        f"{folder}/entry_points.txt": points,
    }


def _pack_home(layout: Platform, target: Path) -> Path:
    home = target / "home"
    for name in _HOME:
        shutil.copytree(layout.home / name, home / name, ignore=shutil.ignore_patterns(_LEFT))
    return home


def _files(folder: Path) -> list[Path]:
    files = (file for file in folder.rglob("*") if file.is_file() and _LEFT not in file.parts)
    return sorted(files)


def _write_requirements(target: Path, constraints: Path, home: Path) -> None:
    """All that a managed Airflow has to fetch, by hash; what it brings itself stays as it is.

    With hashes, pip refuses to fetch anything that has none, and asks none of what is installed.
    Without constraints of ours it would be given Airflow's, which are older.
    """
    lock = tomllib.loads((home / "uv.lock").read_text())
    named = dependencies(lock, "millrace", _MANAGED)
    airflow = [one for one in named if one["name"].startswith("apache-airflow")]
    engines = [one for one in named if one["name"] in _ENGINES]
    brought = closure(lock, airflow, _applies)
    fetched = {
        name: package
        for name, package in closure(lock, engines, _applies).items()
        if name not in brought
    }
    constraints.write_text("\n".join(sorted(map(pinned, fetched.values()))) + "\n")
    target.write_text("\n".join([f'--constraint "{_CONSTRAINTS}"', *lines(fetched)]) + "\n")


def _applies(marker: str) -> bool:
    """On the Linux and the Python of a managed Airflow, in the group that stands for it."""
    return Marker(marker).evaluate(
        {
            "extra": f"group-8-millrace-{_MANAGED}",
            "sys_platform": "linux",
            "os_name": "posix",
            "python_version": "3.12",
            "python_full_version": "3.12.0",
        }
    )


def _project(home: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((home / "pyproject.toml").read_text())["project"]
    return project


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
