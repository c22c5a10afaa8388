"""What one file says of another: sites that exist, names and ports that don't collide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.base.problem import Problem
from millrace.base.suggest import did_you_mean
from millrace.kafka.core.broker_settings import node_ports, nodes
from millrace.pipelines.core.spec import PipelineSpec
from millrace.sites.core.spec import SiteSpec


def sites_of(pipeline: PipelineSpec, sites: Sequence[SiteSpec]) -> list[SiteSpec]:
    """The sites a pipeline reads, in the order of their names."""
    return [site for site in sites if pipeline.reads(site.name)]


def check_pipelines(pipelines: Sequence[PipelineSpec], sites: Sequence[SiteSpec]) -> list[Problem]:
    known = [site.name for site in sites]
    tables: dict[str, str] = {}
    problems: list[Problem] = []
    for index, pipeline in enumerate(pipelines):
        problems.extend(_unknown_sites(index, pipeline, known))
        owner = tables.setdefault(pipeline.table, pipeline.name)
        if owner != pipeline.name:
            text = f"table={pipeline.table!r} is written by pipeline {owner!r} already"
            problems.append(Problem(index, ("table",), f"{text}; give each pipeline its own"))
    return problems


def _unknown_sites(index: int, pipeline: PipelineSpec, known: list[str]) -> Iterator[Problem]:
    if not known:
        yield Problem(
            index, ("sites",), "there is no site yet; write one in dags/sites/<name>.yaml"
        )
        return
    for number, name in enumerate(pipeline.sites if pipeline.sites != "all" else ()):
        if name not in known:
            yield Problem(index, ("sites", number), describe_unknown_site(name, known))


def describe_unknown_site(name: str, known: Sequence[str]) -> str:
    guess = did_you_mean(name, known)
    return f"site {name!r} does not exist; {guess}sites are {', '.join(known)} (dags/sites/*.yaml)"


def check_sites(sites: Sequence[SiteSpec]) -> list[Problem]:
    """Local brokers need three ports each, and none may be another's."""
    owners: dict[int, str] = {}
    problems: list[Problem] = []
    for index, site in enumerate(sites):
        if site.local is None:
            continue
        for port in (port for node in nodes(site) for port in node_ports(site, node)):
            owner = owners.setdefault(port, site.name)
            if owner != site.name:
                text = f"bootstrap={site.bootstrap!r} needs port {port}, which site {owner!r} has"
                way_out = "a local broker takes its own port and the two after it"
                problems.append(Problem(index, ("bootstrap",), f"{text}; {way_out}"))
                break
    return problems
