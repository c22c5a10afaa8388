"""An incident as one HTML page: all that is known, for whoever was woken by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape

from millrace.base.hidden import hidden
from millrace.base.html import document, table
from millrace.base.model import Frozen
from millrace.fleet.core.pipeline_card import Card, Page, PartitionRow
from millrace.incidents.core.incident import Incident
from millrace.incidents.core.incident_advice import AdvisedStep, advise
from millrace.quality.core.verdict import ExpectationOutcome

_NOTES = 15


class Scene(Frozen):
    """What was found out at `at`; None where the pipeline has it not."""

    at: datetime
    # Where Airflow's pages are.
    airflow: str
    # Of a job that is no pipeline's.
    dag_id: str | None = None
    page: Page | None = None
    failed: tuple[ExpectationOutcome, ...] = ()
    log: tuple[str, ...] = ()


def render_incident(incident: Incident, scene: Scene) -> str:
    body = (
        f'<h1 class="failed">{escape(incident.title)}</h1>',
        *_events(incident),
        "<h2>What you may do</h2>",
        *_steps(advise(incident, scene.dag_id), scene.airflow),
        *(_pipeline(scene.page) if scene.page else ()),
        *_verdict(scene.failed),
        *_log(scene.log),
        f"<p><small>As it was at {_at(scene.at)}; {escape(incident.id)}</small></p>",
    )
    return document(incident.title, body)


def _events(incident: Incident) -> Iterator[str]:
    yield f"<p>{escape(hidden(incident.first.text))}</p><p>{_at(incident.began)}</p>"
    if len(incident.events) > 1:
        yield "<h2>What happened</h2>"
        rows = ((_at(event.at), hidden(event.text)) for event in incident.events)
        yield from table(("when", "what"), rows)


def _steps(steps: Iterable[AdvisedStep], airflow: str) -> Iterator[str]:
    yield "<ul>"
    for step in steps:
        text = escape(step.text)
        link = f'<a href="{escape(airflow + step.path)}">{text}</a>' if step.path else text
        command = f"<br><code>{escape(step.command)}</code>" if step.command else ""
        yield f"<li>{link}{command}</li>"
    yield "</ul>"


def _pipeline(page: Page) -> Iterator[str]:
    yield f"<h2>The pipeline {escape(page.card.name)}</h2>"
    yield from table(("", ""), _figures(page.card))
    heads = ("site", "topic", "partition", "read up to", "broker's end", "waiting", "answers")
    rows = (
        (p.site, p.topic, p.partition, p.position, p.end, p.waiting, _connection(p))
        for p in page.parts
    )
    yield from table(heads, rows)
    yield "<h2>What its job went through, the newest first</h2>"
    notes = ((_at(n.at), n.condition, hidden(n.reason)) for n in page.events[:_NOTES])
    yield from table(("since", "condition", "why"), notes)


def _connection(row: PartitionRow) -> str:
    if row.halted:
        return "halted"
    return "yes" if row.reachable else "no"


def _figures(card: Card) -> Iterator[Sequence[object]]:
    yield "state", f"{card.state}: {hidden(card.reason)}"
    yield "since", _at(card.since) if card.since else "never"
    yield "sites", ", ".join(card.sites)
    yield "sites that do not answer", ", ".join(card.sites_away) or "none"
    yield "sites that are halted", ", ".join(card.sites_halted) or "none"
    yield "rows per second", card.rows_per_s
    yield "messages waiting", f"{card.lag_records}, the oldest for {card.behind_s} s"
    yield "last batch", _at(card.last_batch_at) if card.last_batch_at else "none"
    yield "refused since the job began", _share(card.refused)
    if card.verdict:
        state = "passed" if card.verdict.passed else f"failed: {card.verdict.worst}"
        yield "last verdict", f"{state}, {card.verdict.rows} rows, {_at(card.verdict.at)}"


def _share(refused: float | None) -> str:
    return "no row yet" if refused is None else f"{refused:.2%}"


def _verdict(failed: tuple[ExpectationOutcome, ...]) -> Iterator[str]:
    if failed:
        yield "<h2>What the last verdict holds against the rows</h2>"
        heads = ("severity", "about", "expectation", "rows against it", "error")
        rows = (
            (one.severity, one.subject, one.type, one.unexpected, hidden(one.error or ""))
            for one in failed
        )
        yield from table(heads, rows)


def _log(lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        text = hidden("\n".join(lines))
        yield f"<h2>The end of the job's log</h2><pre>{escape(text)}</pre>"


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
