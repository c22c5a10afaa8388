"""A cluster, and how a relay gets in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from millrace.sites.core.spec import ClientSettings, SiteSpec


@dataclass(frozen=True)
class Door:
    """`login` tells user and password as they are by now, for when the old are refused."""

    cluster: SiteSpec
    settings: ClientSettings = field(repr=False)
    login: Callable[[], dict[str, str]]
