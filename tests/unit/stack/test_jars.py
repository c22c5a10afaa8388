"""What Maven fetched is what was pinned, or nothing is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millrace.stack.install import install, jars

CHECKOUT = Path(__file__).resolve().parents[3]
PINNED = (CHECKOUT / "infra" / "jars.sha256").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".jars" / "kafka"
    folder.mkdir(parents=True)
    for name in ("a.jar", "b.jar"):
        (folder / name).write_bytes(name.encode())
    return folder


def test_what_is_as_pinned_is_taken(folder):
    text = "\n".join(jars.lines(folder, "kafka"))
    (folder / ".stamp").write_text("x")
    assert jars.problems(folder, "kafka", text) == []
    assert jars.problems(folder, "spark", text) == [
        "a.jar is not in the list",
        "b.jar is not in the list",
    ]


def test_a_jar_that_is_another_more_or_missing_is_told(folder):
    text = "\n".join(jars.lines(folder, "kafka"))
    (folder / "a.jar").write_bytes(b"evil")
    (folder / "b.jar").rename(folder / "c.jar")
    told = jars.problems(folder, "kafka", text)
    assert [line.split()[0] for line in told] == ["c.jar", "b.jar", "a.jar"]
    assert "and the list says" in told[2]


def test_nothing_is_installed_of_what_differs(folder, monkeypatch):
    home = folder.parents[1]
    pinned = home / "jars.sha256"
    pinned.write_text("\n".join(jars.lines(folder, "kafka")) + "\n")
    (folder / "a.jar").write_bytes(b"evil")
    asked: list[list[str]] = []
    monkeypatch.setattr(install, "PINNED", pinned)
    monkeypatch.setattr(install, "_call", asked.append)
    with pytest.raises(install.StepError, match=r"(?s)a\.jar has SHA-256 .*make pin-jars"):
        install._fetch("kafka", folder)  # noqa: SLF001 - the step itself
    assert "--strict-checksums" in asked[0]
    assert not folder.exists()


def test_every_engine_is_pinned():
    assert {line.split("  ")[1].split("/")[0] for line in PINNED.splitlines()} == {*install.ENGINES}
    assert all(re.fullmatch(r"[0-9a-f]{64}  [a-z]+/\S+", line) for line in PINNED.splitlines())


def test_what_is_installed_here_is_what_is_pinned():
    for engine in ("kafka", "spark"):
        folder = CHECKOUT / ".jars" / engine
        assert jars.problems(folder, engine, PINNED) == []
