"""A folder in which commands find one site."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.platform.core.platform import Platform


def with_plant_a(home: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    layout = Platform(home)
    layout.sites.mkdir(parents=True)
    layout.pipelines.mkdir()
    layout.site("plant-a").write_text("name: plant-a\nbootstrap: a:9093\n")
    monkeypatch.setenv("MILLRACE_HOME", str(home))
    return layout
