"""A program's packages, out of a lock file."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.base.errors import MillraceError
from millrace.gateway.bundle.core.lock_requirements import requirements


def package(name: str, version: str = "1.0", *needs: dict[str, str]) -> dict[str, Any]:
    wheels = [{"hash": f"sha256:{name}-{version}-{n}"} for n in (2, 1)]
    return {"name": name, "version": version, "dependencies": list(needs), "wheels": wheels}


def lock(*packages: dict[str, Any]) -> dict[str, Any]:
    own = {
        "name": "us",
        "version": "0",
        "dependencies": [{"name": "a"}],
        "dev-dependencies": {"tool": [{"name": "b", "version": "2.0"}], "other": [{"name": "z"}]},
    }
    return {"package": [own, *packages]}


def names(lines: list[str]) -> list[str]:
    return [line.split(" ")[0] for line in lines]


def test_all_that_is_needed_is_there_once_and_nothing_else():
    found = lock(
        package("a", "1.0", {"name": "c"}),
        package("b", "1.0"),
        package("b", "2.0", {"name": "c"}, {"name": "w", "marker": "on windows"}),
        package("c"),
        package("w"),
        package("z"),
    )
    lines = requirements(found, "us", "tool", lambda marker: marker != "on windows")
    assert names(lines) == ["a==1.0", "b==2.0", "c==1.0"]
    assert lines[0].split()[1:] == ["\\", "--hash=sha256:a-1.0-1", "\\", "--hash=sha256:a-1.0-2"]


def test_a_package_that_is_not_clear_is_an_error():
    found = lock(package("a"), package("a", "2.0"), package("b", "2.0"))
    with pytest.raises(MillraceError, match="a stands 2 times"):
        requirements(found, "us", "tool", lambda _: True)
