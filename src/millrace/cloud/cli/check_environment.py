"""`millrace check --environment`: the files here, held against what Terraform brought up."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from millrace.base.output import print_json, print_line
from millrace.cloud.core.cloud_check import WantedEnvironment, find_gaps
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.platform.core.platform import Platform

_FAILED = 2


def check_environment(
    layout: Platform, environment: str, outputs: Path | None, *, as_json: bool
) -> None:
    from millrace.cloud.io.release import name_release
    from millrace.cloud.io.terraform_outputs import read_outputs

    told = read_outputs(layout, environment, outputs)
    asked = WantedEnvironment(
        environment=environment,
        release=name_release(layout),
        pipelines=tuple(load_pipelines(layout, run_here=False)),
        sites=tuple(load_sites(layout)),
    )
    gaps = find_gaps(asked, told)
    if as_json:
        print_json(
            {
                "environment": environment,
                "release": asked.release,
                "gaps": [gap.model_dump() for gap in gaps],
            }
        )
    elif not gaps:
        count = len(asked.pipelines)
        who = "1 pipeline needs" if count == 1 else f"{count} pipelines need"
        print_line(f"{environment} has all that {who}")
    else:
        for gap in gaps:
            sys.stderr.write(f"{environment}: {gap}\n")
    if gaps:
        raise typer.Exit(_FAILED)
