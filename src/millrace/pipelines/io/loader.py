"""Reads the files that operators edit into the models of ring 0."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from millrace.base.errors import BadValueError, SpecError, SpecErrors
from millrace.jobs.io.installed_runners import installed_runners
from millrace.pipelines.core.references import (
    Problem,
    check_pipelines,
    check_runners,
    check_sites,
    describe_unknown_site,
)
from millrace.pipelines.core.spec import PipelineSpec
from millrace.relay.core.relay_references import check_clusters, check_relays
from millrace.relay.core.spec import RelaySpec
from millrace.settings.core.layout import Layout
from millrace.sites.core.spec import SiteSpec
from millrace.specs.explain import explain
from millrace.specs.yaml_lines import Document, read_document

Model = TypeVar("Model", bound=BaseModel)


def load_file(file: Path, model: type[Model]) -> Model:
    """One file; all that is wrong with it in one error."""
    return _validate(read_document(file), model)


def load_sites(layout: Layout) -> list[SiteSpec]:
    documents, sites = _load_folder(layout.sites, SiteSpec)
    _raise_all(documents, check_sites(sites))
    return sites


def load_clusters(layout: Layout) -> list[SiteSpec]:
    """Where relays bring things. Their ports may be nobody else's, so sites are looked at too."""
    documents, clusters = _load_folder(layout.clusters, SiteSpec)
    sites = load_sites(layout)
    _raise_all(documents, check_clusters(clusters, sites))
    site_documents = [read_document(layout.site(site.name)) for site in sites]
    _raise_all([*site_documents, *documents], check_sites([*sites, *clusters]))
    return clusters


def load_relays(layout: Layout) -> list[RelaySpec]:
    """All relays, each naming only sites and clusters that exist."""
    documents, relays = _load_folder(layout.relays, RelaySpec)
    _raise_all(documents, check_relays(relays, load_sites(layout), load_clusters(layout)))
    return relays


def load_events_site(layout: Layout) -> SiteSpec | None:
    """The site that carries platform events, where the settings name one."""
    if layout.events_site is None:
        return None
    sites = {site.name: site for site in load_sites(layout)}
    if layout.events_site not in sites:
        place = read_document(layout.local_settings).place(("events_site",))
        problem = describe_unknown_site(layout.events_site, list(sites))
        raise SpecErrors([BadValueError(place, f"events_site: {problem}")])
    return sites[layout.events_site]


def load_pipelines(layout: Layout, *, run_here: bool = True) -> list[PipelineSpec]:
    """All pipelines, each naming only sites that exist, and a runner that is set up here."""
    documents, pipelines = _load_folder(layout.pipelines, PipelineSpec)
    _raise_all(documents, _check(pipelines, layout, run_here=run_here))
    return pipelines


def load_pipeline(layout: Layout, file: Path) -> PipelineSpec:
    """One pipeline by itself, whatever is wrong with its neighbours."""
    document = read_document(file)
    pipeline = _validate(document, PipelineSpec)
    _raise_all([document], _check([pipeline], layout))
    return pipeline


def _check(
    pipelines: list[PipelineSpec], layout: Layout, *, run_here: bool = True
) -> list[Problem]:
    return [
        *check_pipelines(pipelines, load_sites(layout)),
        *check_runners(pipelines, installed_runners(), layout if run_here else None),
    ]


def pipeline_files(layout: Layout) -> list[Path]:
    return sorted(layout.pipelines.glob("*.yaml"))


def _load_folder(folder: Path, model: type[Model]) -> tuple[list[Document], list[Model]]:
    documents, specs, errors = [], [], []
    for file in sorted(folder.glob("*.yaml")):
        try:
            document = read_document(file)
            specs.append(_validate(document, model))
            documents.append(document)
        except SpecError as error:
            errors.append(error)
        except SpecErrors as many:
            errors.extend(many.errors)
    if errors:
        raise SpecErrors(errors)
    return documents, specs


def _validate(document: Document, model: type[Model]) -> Model:
    try:
        spec = model.model_validate(document.values)
    except ValidationError as error:
        raise SpecErrors(explain(document, model, error)) from error
    name = getattr(spec, "name", document.file.stem)
    if name != document.file.stem:
        problem = f"name={name!r}, but the file is {document.file.name}; give both the same name"
        raise SpecErrors([BadValueError(document.place(("name",)), problem)])
    return spec


def _raise_all(documents: list[Document], problems: list[Problem]) -> None:
    errors: list[SpecError] = [
        BadValueError(documents[problem.index].place(problem.path), problem.text)
        for problem in problems
    ]
    if errors:
        raise SpecErrors(errors)
