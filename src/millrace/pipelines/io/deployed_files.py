"""The files that a pipeline is deployed from."""

from __future__ import annotations

from pathlib import Path

from millrace.settings.core.paths import Paths


def deployed_files(layout: Paths, name: str) -> list[Path]:
    """Every file that may have a part in how the pipeline is deployed.

    Suites, schemas and sites of other pipelines are among them: a change of these is looked at, and
    found to change nothing.
    """
    return [
        layout.pipelines / f"{name}.yaml",
        *layout.sites.glob("*.yaml"),
        *layout.expectations.glob("*.json"),
        *layout.schemas.glob("*.avsc"),
    ]
