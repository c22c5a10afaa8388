"""Reads the files of relays, and of the clusters that they bring topics to."""

from __future__ import annotations

from millrace.pipelines.core.references import check_sites
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.relay.core.relay_references import check_clusters, check_relays
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.spec import SiteSpec
from millrace.specs.spec_files import load_folder, raise_all
from millrace.specs.yaml_lines import read_document


def load_clusters(layout: Platform) -> list[SiteSpec]:
    """Where relays bring things. Their ports may be nobody else's, so sites are looked at too."""
    documents, clusters = load_folder(layout.clusters, SiteSpec)
    sites = load_sites(layout)
    raise_all(documents, check_clusters(clusters, sites))
    site_documents = [read_document(layout.site(site.name)) for site in sites]
    raise_all([*site_documents, *documents], check_sites([*sites, *clusters]))
    return clusters


def load_relays(layout: Platform) -> list[RelaySpec]:
    """All relays, each naming only sites and clusters that exist."""
    documents, relays = load_folder(layout.relays, RelaySpec)
    raise_all(documents, check_relays(relays, load_sites(layout), load_clusters(layout)))
    return relays
