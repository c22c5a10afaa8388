"""Finds what a command's argument names, or says what there is."""

from __future__ import annotations

from millrace.core.errors import MillraceError
from millrace.core.layout import Layout
from millrace.core.references import describe_unknown_site
from millrace.core.site import SiteSpec
from millrace.specs.loader import load_clusters, load_sites


def find_site(layout: Layout, name: str) -> SiteSpec:
    """Or a cluster: people look into both by the same commands."""
    sites = load_sites(layout)
    for place in (*sites, *load_clusters(layout)):
        if place.name == name:
            return place
    raise MillraceError(describe_unknown_site(name, [site.name for site in sites]))
