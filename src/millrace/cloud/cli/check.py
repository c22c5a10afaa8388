"""`millrace check`: are the files right, and what would they create? Starts no engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, print_line
from millrace.cloud.cli.check_environment import check_environment
from millrace.kafka.core.platform_topics import EVENTS
from millrace.pipelines.core.effects import Effects, effects_of
from millrace.pipelines.io.loader import load_events_site, load_pipelines, load_sites
from millrace.pipelines.io.refining import check_quality
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import Settings
from millrace.relay.core.relay_references import relay_targets
from millrace.relay.io.relay_files import load_clusters, load_relays

Environment = Annotated[
    str | None,
    typer.Option(help="Does what Terraform brought up there hold all that the pipelines need?"),
]
Outputs = Annotated[
    Path | None,
    typer.Option(help="What 'terraform output -json' said there; without it, it is asked now."),
]


def check(
    *, environment: Environment = None, outputs: Outputs = None, as_json: Json = False
) -> None:
    """Validate all files below dags, and suites, and say what each would create.

    Starts nothing and changes nothing. Exit code 2 when something is wrong; every error names
    the file, the line, the value, and what to write instead.
    """
    layout = Settings.from_env(os.environ).layout
    if environment:
        check_environment(layout, environment, outputs, as_json=as_json)
    elif outputs:
        raise MillraceError(f"--outputs {outputs} is of an environment; add --environment NAME")
    else:
        _check_here(layout, as_json=as_json)


def _check_here(layout: Platform, *, as_json: bool) -> None:
    pipelines, sites = load_pipelines(layout), load_sites(layout)
    events = load_events_site(layout)
    clusters, relays = load_clusters(layout), load_relays(layout)
    suites = check_quality(layout, pipelines)
    effects = [
        effects_of(pipeline, sites, layout, suites.get(pipeline.name)) for pipeline in pipelines
    ]
    if as_json:
        print_json(
            {
                "sites": {site.name: {"bootstrap": site.bootstrap} for site in sites},
                "clusters": {one.name: {"bootstrap": one.bootstrap} for one in clusters},
                "relays": {one.name: relay_targets(one, sites) for one in relays},
                "pipelines": {one.pipeline: one.model_dump() for one in effects},
            }
        )
        return
    for site in sites:
        where = "a broker on this machine" if site.local else "a remote cluster"
        print_line(f"site {site.name}: {where} at {site.bootstrap}")
    for cluster in clusters:
        where = f"{cluster.brokers} brokers on this machine" if cluster.local else "remote"
        print_line(f"cluster {cluster.name}: {where}, at {cluster.bootstrap}")
    if events:
        print_line(f"platform events: topic {EVENTS}@{events.name}")
    for relay in relays:
        for source, target in relay_targets(relay, sites).items():
            print_line(f"relay {relay.name}: {source} to {target}@{relay.to}")
    for one in effects:
        _print_effects(one)
    counts: dict[str, Sequence[object]] = {
        "pipeline": pipelines,
        "site": sites,
        "cluster": clusters,
        "relay": relays,
    }
    listed = ", ".join(_count(things, noun) for noun, things in counts.items())
    print_line(f"all is well: {listed}")


def _print_effects(effects: Effects) -> None:
    print_line(f"pipeline {effects.pipeline} would create")
    rows = [
        ("DAG", effects.dag),
        *(("topic", topic) for topic in effects.topics),
        *((f"{layer} table", path) for layer, path in effects.tables.items()),
        *(("checkpoint", path) for path in effects.checkpoints),
        *([("quality", effects.quality)] if effects.quality else []),
        ("job", f"{effects.queries} streaming queries, runner {effects.runner}"),
    ]
    for kind, what in rows:
        print_line(f"  {kind:<17} {what}")


def _count(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
