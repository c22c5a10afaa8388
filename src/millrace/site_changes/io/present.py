"""The files of sites and pipelines as they are, held against no cluster."""

from __future__ import annotations

from millrace.core.layout import Layout
from millrace.core.pipeline import PipelineSpec
from millrace.core.site import SiteSpec
from millrace.core.site_change import Present
from millrace.local.secrets import known_users
from millrace.specs.loader import load_file, load_sites, pipeline_files


def read_present(layout: Layout) -> Present:
    """A pipeline of a site that is not there yet is no error: the site may be what is asked for."""
    retired = sorted(layout.retired_sites.glob("*.yaml"))
    return Present(
        sites=tuple(load_sites(layout)),
        pipelines=tuple(load_file(file, PipelineSpec) for file in pipeline_files(layout)),
        leaving=tuple(load_file(f, SiteSpec) for f in retired if known_users(layout, f.stem)),
    )
