"""The one reader of the environment: where the checkout is, and the local stack's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from millrace.core.errors import MillraceError
from millrace.core.layout import Layout
from millrace.core.model import Frozen
from millrace.specs.loader import load_file

HOME_VARIABLE = "MILLRACE_HOME"


class LocalSettings(Frozen):
    """What stands in `infra/local.yaml`."""

    airflow_port: Annotated[int, Field(ge=1, le=65_535)] = 8080


@dataclass(frozen=True)
class Settings:
    layout: Layout

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        named = env.get(HOME_VARIABLE)
        home = Path(named).resolve() if named else _home_of_this_code()
        if not (home / "dags" / "pipelines").is_dir():
            raise MillraceError(
                f"{home} is not a Millrace checkout: it has no dags/pipelines;"
                f" set {HOME_VARIABLE} to the folder you cloned"
            )
        return cls(Layout(home))

    def local(self) -> LocalSettings:
        file = self.layout.local_settings
        return load_file(file, LocalSettings) if file.exists() else LocalSettings()

    @property
    def airflow_port(self) -> int:
        return self.local().airflow_port


def _home_of_this_code() -> Path:
    return Path(__file__).resolve().parents[2]
