"""What a program needs of a lock file: its packages with all that these need, each with hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millrace.core.errors import MillraceError

Entry = Mapping[str, Any]
# Whether a dependency with this marker is wanted where the program will run.
Applies = Callable[[str], bool]


def requirements(lock: Entry, project: str, group: str, applies: Applies) -> list[str]:
    """Lines of a requirements file: a project's own dependencies, and those of a group."""
    packages: dict[str, list[Entry]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    own = packages[project][0]
    found: dict[str, Entry] = {}
    waiting = [*own.get("dependencies", []), *own["dev-dependencies"][group]]
    while waiting:
        wanted = waiting.pop()
        if "marker" in wanted and not applies(wanted["marker"]):
            continue
        package = _pick(packages, wanted)
        if wanted["name"] not in found:
            found[wanted["name"]] = package
            waiting += package.get("dependencies", [])
    return [_line(found[name]) for name in sorted(found)]


def _pick(packages: Mapping[str, list[Entry]], wanted: Entry) -> Entry:
    known = packages.get(wanted["name"], [])
    fitting = [one for one in known if one["version"] == wanted.get("version", one["version"])]
    if len(fitting) != 1:
        raise MillraceError(f"uv.lock: {wanted['name']} stands {len(fitting)} times; run 'uv lock'")
    return fitting[0]


def _line(package: Entry) -> str:
    hashes = sorted(_hashes(package))
    return " \\\n    ".join([f"{package['name']}=={package['version']}", *hashes])


def _hashes(package: Entry) -> Iterable[str]:
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    return (f"--hash={file['hash']}" for file in files)
