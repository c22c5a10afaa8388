"""Finds what a command's argument names, or says what there is."""

from __future__ import annotations

from millrace.base.errors import MillraceError
from millrace.pipelines.core.references import describe_unknown_site
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.relay.io.relay_files import load_clusters
from millrace.sites.core.spec import SiteSpec


def find_site(layout: Platform, name: str) -> SiteSpec:
    """Or a cluster: people look into both by the same commands."""
    sites = load_sites(layout)
    for place in (*sites, *load_clusters(layout)):
        if place.name == name:
            return place
    raise MillraceError(describe_unknown_site(name, [site.name for site in sites]))
