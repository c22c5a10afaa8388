"""What Terraform takes to the cloud, packed into var/release."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

from millrace.core.cloud import plan_cloud
from millrace.core.layout import Layout
from millrace.specs.loader import load_pipelines, load_sites
from millrace.specs.refining import check_quality

# What plugins import beside the package's own dependencies.
_ENGINES = ("boto3", "deltalake", "fastavro")
_LEFT = "__pycache__"
# Equal files make an equal archive, whenever they are packed.
_MOMENT = (1980, 1, 1, 0, 0, 0)


def pack(layout: Layout) -> str:
    """Returns the release: the version, and a digest of all that Airflow will run."""
    pipelines, sites = load_pipelines(layout), load_sites(layout)
    check_quality(layout, pipelines)
    shutil.rmtree(layout.release, ignore_errors=True)
    layout.release.mkdir(parents=True)
    plugins, requirements = layout.release / "plugins.zip", layout.release / "requirements.txt"
    _zip(plugins, layout)
    requirements.write_text("\n".join(_requirements(layout.home)) + "\n")
    name = f"{version('millrace')}-{_digest(plugins, requirements, *_files(layout.dags))}"
    plan = plan_cloud(name, pipelines, sites)
    (layout.release / "plan.json").write_text(plan.model_dump_json(indent=2))
    return name


def _zip(target: Path, layout: Layout) -> None:
    """Airflow imports what lies in plugins, so our package lies there too."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (layout.home / "plugins", layout.home / "src"):
            for file in _files(folder):
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _MOMENT)
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def _files(folder: Path) -> list[Path]:
    files = (file for file in folder.rglob("*") if file.is_file() and _LEFT not in file.parts)
    return sorted(files)


def _requirements(home: Path) -> list[str]:
    """Engines by the lock's exact version; what Airflow brings itself, as a range."""
    lock = tomllib.loads((home / "uv.lock").read_text())
    versions = {package["name"]: package["version"] for package in lock["package"]}
    project = tomllib.loads((home / "pyproject.toml").read_text())["project"]
    return sorted([*project["dependencies"], *(f"{name}=={versions[name]}" for name in _ENGINES)])


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
