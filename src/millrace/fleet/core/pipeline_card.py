"""What the Fleet page shows of a pipeline: put together from what its parts wrote down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from millrace.base.model import Frozen
from millrace.fleet.core.job_card import AT_REST, judge, newest_notes
from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.journal import Journal, Note, Sample
from millrace.lake.core.refine import Severity
from millrace.pipelines.core.spec import PipelineSpec


class QualityVerdict(Frozen):
    passed: bool
    worst: Severity | None
    rows: int
    at: datetime


class Card(Frozen):
    """One line of the page."""

    name: str
    dag_id: str
    state: str
    reason: str
    since: datetime | None
    runner: str
    sites: tuple[str, ...]
    sites_away: tuple[str, ...]
    sites_halted: tuple[str, ...]
    generation: int | None
    rows_per_s: float
    lag_records: int
    # Age of the oldest message that is not readable yet; one batch makes bronze and silver. A
    # halted site is left out: what waits there is in the reason, and with its partitions.
    behind_s: float
    # Share of the rows in quarantine, since the job began; None before the first row.
    refused: float | None
    last_batch_at: datetime | None
    verdict: QualityVerdict | None
    maintained_at: datetime | None
    history: tuple[Sample, ...]


class PartitionRow(Frozen):
    site: str
    topic: str
    partition: int
    position: int
    end: int
    waiting: int
    oldest_waiting: datetime | None
    newest_at: datetime | None
    reachable: bool
    halted: str
    last_batch_at: datetime | None


class AnewRow(Frozen):
    """A topic that was deleted and made again."""

    at: datetime
    site: str
    topic: str
    topic_id: str


class Page(Frozen):
    """A pipeline's own page."""

    card: Card
    parts: tuple[PartitionRow, ...]
    events: tuple[Note, ...]
    made_anew: tuple[AnewRow, ...]
    refused: dict[str, int]
    broken: dict[str, int]
    tables: dict[str, str]


def make_card(
    spec: PipelineSpec,
    sites: tuple[str, ...],
    beat: IngestBeat | None,
    journal: Journal,
    now: datetime,
    verdict: QualityVerdict | None = None,
    maintained_at: datetime | None = None,
) -> Card:
    note = journal.latest
    state, reason = judge(spec.supervise, beat, note, now)
    is_alive = note is not None and state == note.condition and state not in AT_REST
    return Card(
        name=spec.name,
        dag_id=spec.dag_id,
        state=state,
        reason=reason,
        since=note.at if note else None,
        runner=spec.runner,
        sites=sites,
        sites_away=tuple(s.site for s in beat.sites if not s.reachable) if beat else (),
        sites_halted=tuple(beat.halts) if beat else (),
        generation=beat.generation if beat else None,
        rows_per_s=round(beat.rows_per_s, 1) if beat and is_alive else 0.0,
        lag_records=beat.lag_records if beat else 0,
        behind_s=round(beat.lag_s(now), 1) if beat else 0.0,
        refused=refused_share(beat.sites) if beat else None,
        last_batch_at=beat.worked_at if beat else None,
        verdict=verdict,
        maintained_at=maintained_at,
        history=journal.samples,
    )


def refused_share(sites: tuple[SiteBeat, ...]) -> float | None:
    rows = sum(site.rows_total for site in sites)
    refused = sum(sum(site.refused.values()) for site in sites)
    return round(refused / rows, 4) if rows else None


def make_page(
    card: Card, beat: IngestBeat | None, journal: Journal, tables: dict[str, str]
) -> Page:
    sites = beat.sites if beat else ()
    return Page(
        card=card,
        parts=tuple(row for site in sites for row in _rows(site)),
        events=newest_notes(journal),
        made_anew=tuple(
            AnewRow(at=one.found_at, site=site, topic=one.topic, topic_id=one.topic_id)
            for site, one in reversed(journal.made_anew)
        ),
        refused=_sum(site.refused for site in sites),
        broken=_sum(site.broken for site in sites),
        tables=tables,
    )


def _rows(site: SiteBeat) -> list[PartitionRow]:
    return [
        PartitionRow(
            site=site.site,
            topic=part.topic,
            partition=part.partition,
            position=part.position,
            end=part.end,
            waiting=part.records,
            oldest_waiting=part.oldest_waiting,
            newest_at=part.newest_at,
            reachable=site.reachable,
            halted=site.halted,
            last_batch_at=site.last_batch_at,
        )
        for part in site.partitions
    ]


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)
