"""Reads the files of sites and pipelines, each beside the others that it names."""

from __future__ import annotations

from pathlib import Path

from millrace.base.errors import BadValueError, SpecErrors
from millrace.base.problem import Problem
from millrace.pipelines.core.references import check_pipelines, check_sites, describe_unknown_site
from millrace.pipelines.core.runner_fitness import check_runners
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.installed_runners import installed_runners
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import SiteSpec
from millrace.specs.spec_files import load_document, load_folder, raise_all
from millrace.specs.yaml_lines import read_document


def load_sites(layout: Platform) -> list[SiteSpec]:
    documents, sites = load_folder(layout.sites, SiteSpec)
    raise_all(documents, check_sites(sites))
    return sites


def load_events_site(layout: Platform) -> SiteSpec | None:
    """The site that carries platform events, where the settings name one."""
    if layout.events_site is None:
        return None
    sites = {site.name: site for site in load_sites(layout)}
    if layout.events_site not in sites:
        place = read_document(layout.local_settings).place(("events_site",))
        problem = describe_unknown_site(layout.events_site, list(sites))
        raise SpecErrors([BadValueError(place, f"events_site: {problem}")])
    return sites[layout.events_site]


def load_pipelines(layout: Platform, *, run_here: bool = True) -> list[PipelineSpec]:
    """All pipelines, each naming only sites that exist, and a runner that is set up here."""
    documents, pipelines = load_folder(layout.pipelines, PipelineSpec)
    raise_all(documents, _check(pipelines, layout, run_here=run_here))
    return pipelines


def load_pipeline(layout: Platform, file: Path) -> PipelineSpec:
    """One pipeline by itself, whatever is wrong with its neighbours."""
    document = read_document(file)
    pipeline = load_document(document, PipelineSpec)
    raise_all([document], _check([pipeline], layout))
    return pipeline


def _check(
    pipelines: list[PipelineSpec], layout: Platform, *, run_here: bool = True
) -> list[Problem]:
    return [
        *check_pipelines(pipelines, load_sites(layout)),
        *check_runners(pipelines, installed_runners(), layout if run_here else None),
    ]


def pipeline_files(layout: Platform) -> list[Path]:
    return sorted(layout.pipelines.glob("*.yaml"))
