"""The files of sites and pipelines as they are, held against no cluster."""

from __future__ import annotations

from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import load_sites, pipeline_files
from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import known_users
from millrace.site_changes.core.site_change import Present
from millrace.sites.core.spec import SiteSpec
from millrace.specs.spec_files import load_file


def read_present(layout: Platform) -> Present:
    """A pipeline of a site that is not there yet is no error: the site may be what is asked for."""
    retired = sorted(layout.retired_sites.glob("*.yaml"))
    return Present(
        sites=tuple(load_sites(layout)),
        pipelines=tuple(load_file(file, PipelineSpec) for file in pipeline_files(layout)),
        leaving=tuple(load_file(f, SiteSpec) for f in retired if known_users(layout, f.stem)),
    )
