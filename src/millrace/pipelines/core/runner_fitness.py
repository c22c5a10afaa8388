"""Whether the runner that a pipeline names is installed, and can work as things are set up."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from millrace.base.problem import Problem
from millrace.base.suggest import did_you_mean
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform


def check_runners(
    pipelines: Sequence[PipelineSpec], installed: Collection[str], layout: Platform | None
) -> list[Problem]:
    """A runner that nobody installed, or one that cannot work as things are set up.

    Without a layout: they run elsewhere, where things are set up otherwise.
    """
    problems = []
    for index, pipeline in enumerate(pipelines):
        text = _runner_problem(pipeline, installed, layout)
        if text:
            problems.append(Problem(index, ("runner",), text))
    return problems


def _runner_problem(
    pipeline: PipelineSpec, installed: Collection[str], layout: Platform | None
) -> str | None:
    if pipeline.runner not in installed:
        return describe_unknown_runner(pipeline.runner, installed)
    if layout is None or not pipeline.is_remote:
        return None
    return unfit_for(pipeline.runner, layout)


def describe_unknown_runner(name: str, installed: Collection[str]) -> str:
    guess = did_you_mean(name, sorted(installed))
    return f"runner {name!r} is not installed; {guess}write one of: {', '.join(sorted(installed))}"


def unfit_for(runner: str, layout: Platform) -> str | None:
    """Why a runner on other machines cannot work here, and the way out."""
    if layout.remotes.of(runner) is None:
        return _missing_settings(runner)
    if layout.bucket is None:
        return (
            f"runner {runner!r} needs tables and checkpoints where its machines can reach them:"
            " name a bucket under store: in infra/local.yaml (docs/guide/store.md), or write"
            " runner: local"
        )
    here = [key for key in ("credentials_file", "ca_file") if getattr(layout.bucket, key)]
    if here:
        return (
            f"runner {runner!r} starts jobs on machines that have no {' and no '.join(here)} of"
            " this one; name a bucket that a role opens, without these keys (docs/guide/store.md)"
        )
    return None


def _missing_settings(runner: str) -> str:
    keys = {
        "emr-serverless": "application and role",
        "kubernetes": "namespace, image, service_account and secret",
    }
    section = runner.replace("-", "_")
    return (
        f"runner {runner!r} was not set up; write {section}: with {keys[runner]} in"
        " infra/local.yaml (docs/guide/runners.md)"
    )
