"""Finds what a command's argument names, or says what there is."""

from __future__ import annotations

from millrace.base.errors import MillraceError
from millrace.pipelines.core.references import describe_unknown_site
from millrace.pipelines.io.loader import load_clusters, load_sites
from millrace.settings.core.layout import Layout
from millrace.sites.core.spec import SiteSpec


def find_site(layout: Layout, name: str) -> SiteSpec:
    """Or a cluster: people look into both by the same commands."""
    sites = load_sites(layout)
    for place in (*sites, *load_clusters(layout)):
        if place.name == name:
            return place
    raise MillraceError(describe_unknown_site(name, [site.name for site in sites]))
