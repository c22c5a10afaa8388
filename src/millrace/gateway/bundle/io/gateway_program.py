"""The gateway as a bare machine can install it: our code, its packages, the installer."""

from __future__ import annotations

import io
import tarfile
import tomllib
from pathlib import Path

from packaging.markers import Marker

from millrace.gateway.bundle.core.lock_requirements import requirements
from millrace.settings.core.paths import Paths

CODE, PACKAGES = "millrace.tar", "requirements.txt"
_INSTALLER, _UNIT = "install.sh", "millrace-gateway.service"
# What a gateway never imports stays at home.
_PARTS = ("base", "gateway", "kafka", "secrets", "sites", "specs", "storage")


def program_files(layout: Paths) -> dict[str, bytes]:
    """Empty where this machine has no checkout to take them from."""
    lock = layout.home / "uv.lock"
    if not lock.exists():
        return {}
    shipped = layout.home / "infra" / "gateway"
    return {
        CODE: _packed(layout.home / "src" / "millrace"),
        PACKAGES: _packages(lock).encode(),
        _INSTALLER: (shipped / _INSTALLER).read_bytes(),
        _UNIT: (shipped / _UNIT).read_bytes(),
    }


def _packages(lock: Path) -> str:
    found = requirements(tomllib.loads(lock.read_text()), "millrace", "gateway", _applies)
    return "\n".join(found) + "\n"


def _applies(marker: str) -> bool:
    """On Linux, with the Python that we have; not in one of the project's other groups."""
    return Marker(marker).evaluate({"extra": "", "sys_platform": "linux", "os_name": "posix"})


def _packed(package: Path) -> bytes:
    """The same code gives the same bytes."""
    stream = io.BytesIO()
    top = [package / "__init__.py"]
    files = [*top, *(file for part in _PARTS for file in sorted((package / part).rglob("*.py")))]
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for file in files:
            data = file.read_bytes()
            member = tarfile.TarInfo(f"millrace/{file.relative_to(package)}")
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()
