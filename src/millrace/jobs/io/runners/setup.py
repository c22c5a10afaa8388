"""What a runner on other machines cannot do without."""

from __future__ import annotations

from typing import TypeVar

from millrace.base.errors import MillraceError
from millrace.pipelines.core.runner_fitness import unfit_for
from millrace.platform.core.platform import Platform
from millrace.settings.core.remotes import RemoteSettings
from millrace.storage.core.bucket import Bucket

Settings = TypeVar("Settings", bound=RemoteSettings)


def require(settings: Settings | None, layout: Platform, runner: str) -> tuple[Settings, Bucket]:
    """Raises MillraceError with what `millrace check` would have said."""
    if settings is None or layout.bucket is None:
        raise MillraceError(str(unfit_for(runner, layout)))
    return settings, layout.bucket
