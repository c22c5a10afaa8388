"""The archive of Spark's classes is made once for each state of Java and jars, or done without."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.stack.install import install

Archive = Callable[[], None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("pyspark/a.jar", ".jars/spark/b.jar", ".jars/jvm/c.jar"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("classes")
    (tmp_path / "spark_jobs" / "ingest").mkdir(parents=True)
    (tmp_path / "spark_jobs" / "ingest" / "class_archive.py").write_text("")
    monkeypatch.setattr(install, "HOME", tmp_path)
    monkeypatch.setattr(install, "PYSPARK_JARS", tmp_path / "pyspark")
    return tmp_path


@pytest.fixture
def archive() -> Archive:
    return install._archive_classes  # noqa: SLF001 - the step itself


def test_it_is_made_once_and_again_where_a_jar_is_another(
    home: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(install, "_call", lambda command, **_: asked.append(command))
    archive()
    archive()
    assert len(asked) == 1
    assert asked[0][1:3] == ["-m", "spark_jobs.ingest.class_archive"]
    # Java compares times too.
    os.utime(home / "pyspark" / "a.jar", (1, 1))
    archive()
    assert len(asked) == 2


def test_an_installation_goes_on_without_it_and_says_so(
    home: Path,
    archive: Archive,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(command: list[str], **_: str) -> None:
        raise install.StepError("this Java has no archive of its own")

    monkeypatch.setattr(install, "_call", fail)
    archive()
    assert "jobs will start more slowly: this Java has no archive" in capsys.readouterr().out
    archive()
    assert "slowly" not in capsys.readouterr().out, "tried again though nothing has changed"
