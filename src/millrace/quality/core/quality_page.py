"""A result as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from millrace.base.html import document
from millrace.quality.core.quality_task import QualityResult
from millrace.quality.core.verdict import ExpectationOutcome, FailingRow

_HEADS = ("", "severity", "about", "expectation", "rows against it", "seen")


def render(result: QualityResult) -> str:
    state = "passed" if result.passed else "failed"
    title = f"{result.suite} on {result.pipeline}: {state}"
    body = (
        f'<h1>{escape(result.suite)} on {escape(result.pipeline)}: <span class="{state}">'
        f"{state}</span></h1>",
        *(f"<p>{escape(line)}</p>" for line in _summary(result)),
        *_table(result.outcomes),
    )
    return document(title, body)


def _summary(result: QualityResult) -> Iterable[str]:
    yield f"{result.rows} rows of {result.table}, {result.span}"
    if result.note:
        yield f"All of them: {result.note}."
    failed = sum(not one.passed for one in result.outcomes)
    worst = f", the worst of them {result.worst}" if result.worst else ""
    yield (
        f"{len(result.outcomes)} expectations, {failed} not met{worst};"
        f" a check fails from {result.fail_on} on."
    )
    yield f"Checked at {result.checked_at.isoformat(timespec='seconds')} in {result.seconds} s"


def _table(outcomes: tuple[ExpectationOutcome, ...]) -> Iterable[str]:
    if not outcomes:
        return
    yield "<table><thead><tr>" + "".join(f"<th>{head}</th>" for head in _HEADS) + "</tr></thead>"
    for one in sorted(outcomes, key=lambda outcome: outcome.passed):
        yield _row(one)
    yield "</table>"


def _row(one: ExpectationOutcome) -> str:
    state = "passed" if one.passed else "failed"
    arguments = ", ".join(f"{key}={value}" for key, value in one.arguments.items())
    cells = (
        f'<td class="{state}">{state}</td>',
        f"<td>{one.severity}</td>",
        f"<td><code>{escape(one.subject)}</code></td>",
        f"<td>{escape(one.type)}<br><code>{escape(arguments)}</code>"
        f"<br><small>{escape(one.description)}</small></td>",
        f'<td class="number">{_count(one)}</td>',
        f"<td>{_seen(one)}</td>",
    )
    return "<tr>" + "".join(cells) + "</tr>"


def _count(one: ExpectationOutcome) -> str:
    if one.unexpected is None:
        return ""
    return f"{one.unexpected} of {one.rows}<br>{one.unexpected_percent or 0:.3g} %"


def _seen(one: ExpectationOutcome) -> str:
    if one.error:
        return f"could not be judged: <code>{escape(one.error)}</code>"
    if one.observed is not None:
        return f"<code>{escape(one.observed)}</code>"
    return "<br>".join(_sample(sample) for sample in one.samples)


def _sample(sample: FailingRow) -> str:
    values = ", ".join(f"{key}={value}" for key, value in sample.values.items())
    where = "/".join(sample.at.values())
    return f"<code>{escape(values)}</code> <small>{escape(where)}</small>"
