"""What a program needs of a lock file: its packages with all that these need, each with hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millrace.base.errors import MillraceError

Entry = Mapping[str, Any]
# Whether a dependency with this marker is wanted where the program will run.
Applies = Callable[[str], bool]


def requirements(lock: Entry, project: str, group: str, applies: Applies) -> list[str]:
    """Lines of a requirements file: a project's own dependencies, and those of a group."""
    return lines(closure(lock, dependencies(lock, project, group), applies))


def dependencies(lock: Entry, project: str, group: str) -> list[Entry]:
    """What a project names for itself and for a group."""
    own = _by_name(lock)[project][0]
    return [*own.get("dependencies", []), *own["dev-dependencies"][group]]


def closure(lock: Entry, wanted: Iterable[Entry], applies: Applies) -> dict[str, Entry]:
    """The packages with all that these need, by name."""
    packages = _by_name(lock)
    found: dict[str, Entry] = {}
    waiting = list(wanted)
    while waiting:
        one = waiting.pop()
        if "marker" in one and not applies(one["marker"]):
            continue
        package = _pick(packages, one)
        if one["name"] not in found:
            found[one["name"]] = package
            waiting += package.get("dependencies", [])
    return found


def lines(packages: Mapping[str, Entry]) -> list[str]:
    return [_line(packages[name]) for name in sorted(packages)]


def pinned(package: Entry) -> str:
    return f"{package['name']}=={package['version']}"


def _by_name(lock: Entry) -> dict[str, list[Entry]]:
    packages: dict[str, list[Entry]] = {}
    for package in lock["package"]:
        packages.setdefault(package["name"], []).append(package)
    return packages


def _pick(packages: Mapping[str, list[Entry]], wanted: Entry) -> Entry:
    known = packages.get(wanted["name"], [])
    fitting = [one for one in known if one["version"] == wanted.get("version", one["version"])]
    if len(fitting) != 1:
        raise MillraceError(f"uv.lock: {wanted['name']} stands {len(fitting)} times; run 'uv lock'")
    return fitting[0]


def _line(package: Entry) -> str:
    return " \\\n    ".join([pinned(package), *sorted(_hashes(package))])


def _hashes(package: Entry) -> Iterable[str]:
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    return (f"--hash={file['hash']}" for file in files)
