"""`millrace quality`: a suite over the rows that came since the last check."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, show_progress
from millrace.lake.core.refine import Severity
from millrace.platform.io.environment import platform_here
from millrace.quality.core.quality_task import QualityResult
from millrace.quality.core.verdict import SEVERITIES, ExpectationOutcome
from millrace.quality.io.quality_run import check_rows
from millrace.tasks.io.task_pipelines import find_pipeline

FAILED = 1


def quality(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    from_version: Annotated[
        int | None,
        typer.Option(min=0, help="First commit; default is the one after the last check."),
    ] = None,
    to_version: Annotated[int | None, typer.Option(min=0, help="Last commit.")] = None,
    fail_on: Annotated[
        str, typer.Option(help="From which severity on it fails: critical, warning or info.")
    ] = "critical",
    as_json: Json = False,
) -> None:
    """Judge the new rows of silver by the pipeline's whole suite.

    Exit code 0 when it passes, 1 when an expectation of that severity or a worse one is not met,
    2 when it could not be done.
    """
    layout = platform_here()
    pipeline = find_pipeline(layout, name)
    versions = (from_version, to_version)
    result = check_rows(layout, pipeline, versions, _severity(fail_on), show_progress)
    if as_json:
        shown = {"passed": result.passed, "worst": result.worst}
        print_json({**shown, **result.model_dump(mode="json")})
    else:
        show(result, Console(highlight=False))
    if not result.passed:
        raise typer.Exit(FAILED)


def _severity(text: str) -> Severity:
    for severity in SEVERITIES:
        if severity == text:
            return severity
    raise MillraceError(f"--fail-on {text!r}: write {', '.join(SEVERITIES)}")


def show(result: QualityResult, console: Console) -> None:
    """What a person reads."""
    if not result.rows:
        console.print(f"nothing new since version {result.to_version}: passed")
        return
    table = Table()
    for title in ("", "severity", "about", "expectation", "against it", "seen"):
        table.add_column(title, overflow="fold")
    for one in result.outcomes:
        table.add_row(*_cells(one))
    console.print(table)
    note = f" ({result.note})" if result.note else ""
    console.print(f"{result.rows} rows, {result.span}{note}", soft_wrap=True, markup=False)
    verdict = "passed" if result.passed else f"failed: {result.worst}"
    console.print(f"{verdict}; page: {result.page}", soft_wrap=True, markup=False)


def _cells(one: ExpectationOutcome) -> tuple[Text, ...]:
    """What came from messages is text and never rich's markup."""
    state = Text("passed", "green") if one.passed else Text("failed", "red")
    against = "" if one.unexpected is None else f"{one.unexpected} of {one.rows}"
    first = one.samples[0].values.values() if one.samples else ()
    seen = one.error or one.observed or ", ".join(first)
    kind = one.type.removeprefix("expect_")
    return state, *(Text(cell) for cell in (one.severity, one.subject, kind, against, seen))
