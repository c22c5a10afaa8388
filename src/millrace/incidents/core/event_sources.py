"""From what supervision, quality and verify found to events: once an occurrence, not a look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from millrace.base.duration import format_duration
from millrace.base.ranges import hull
from millrace.incidents.core.event import Event, EventKind, Gap, make_event
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.journal import Journal, Note
from millrace.jobs.core.trend import Trend
from millrace.kafka.core.coordinates import Part
from millrace.pipelines.core.spec import Supervise
from millrace.quality.core.quality_task import QualityResult
from millrace.repair.core.alarms import Alarm, AlarmKind
from millrace.repair.core.replay_spec import Origin

_TOLD = {Condition.CRASH_LOOP: EventKind.CRASH_LOOPING, Condition.GIVEN_UP: EventKind.GIVEN_UP}
# The job worked again, or a person took it in hand: what comes after is another occurrence.
_OVER = {
    Condition.HEALTHY,
    Condition.LAGGING,
    Condition.INPUT_SILENT,
    Condition.DEGRADED,
    Condition.OUTDATED,
    Condition.STOPPED,
}


def of_change(pipeline: str, before: Journal, after: Journal) -> Event | None:
    """A crash loop goes through many conditions; its first note is the event."""
    note = after.latest
    if note is None or note == before.latest:
        return None
    kind = _TOLD.get(note.condition)
    if kind is None or note.condition in _since_over(before.notes):
        return None
    return make_event(kind, pipeline, note.at, _first_line(note.reason))


def _since_over(notes: tuple[Note, ...]) -> set[Condition]:
    since: set[Condition] = set()
    for note in reversed(notes):
        if note.condition in _OVER:
            break
        since.add(note.condition)
    return since


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def silences(trend: Trend | None, policy: Supervise, now: datetime) -> dict[str, str]:
    """The sites that say nothing, each with what is known of it."""
    if trend is None:
        return {}
    quiet = trend.silent(now, policy.silent_after) if policy.silent_after else ()
    away = trend.away(now, policy.stuck_after)
    longer = format_duration(policy.silent_after) if policy.silent_after else ""
    stuck = format_duration(policy.stuck_after)
    found = {
        **{site: f"site {site!r} sent no message for {longer} (silent_after)" for site in quiet},
        **{site: f"the broker of site {site!r} has not answered for {stuck}" for site in away},
    }
    # A halted site is told as such.
    return {site: text for site, text in found.items() if site not in trend.halts()}


def of_silences(
    pipeline: str, before: Iterable[str], now_silent: Mapping[str, str], at: datetime
) -> tuple[Event, ...]:
    """One for each site that was not silent at the look before this one."""
    known = set(before)
    return tuple(
        make_event(EventKind.SITE_SILENT, pipeline, at, text, site)
        for site, text in now_silent.items()
        if site not in known
    )


def of_halts(
    pipeline: str, before: Iterable[str], halts: Mapping[str, str], at: datetime
) -> tuple[Event, ...]:
    """One for each site that was not halted at the look before this one."""
    known = set(before)
    return tuple(
        make_event(EventKind.SITE_HALTED, pipeline, at, f"site {site!r} halted: {reason}", site)
        for site, reason in halts.items()
        if site not in known
    )


def of_made_anew(pipeline: str, before: Journal, after: Journal) -> tuple[Event, ...]:
    """Named by when the job found each, so that it is one event however often it is told."""
    return tuple(
        make_event(
            EventKind.TOPIC_ANEW,
            pipeline,
            one.found_at,
            f"topic {one.topic!r} of site {site!r} was deleted and made again: its records are read"
            f" from the oldest on, under the id {one.topic_id}; what the tables have of the former"
            " topic stays, and what nobody had read of it is gone",
            site,
        )
        for site, one in after.made_anew
        if (site, one) not in before.made_anew
    )


def of_verdict(result: QualityResult) -> Event | None:
    if result.passed:
        return None
    text = (
        f"{result.rows} rows of {result.table} ({result.span}) do not meet {result.suite},"
        f" the worst failure is {result.worst}: {result.failures}"
    )
    return make_event(EventKind.QUALITY_FAILED, result.pipeline, result.checked_at, text)


def of_alarms(
    pipeline: str, alarms: tuple[Alarm, ...], told: tuple[Alarm, ...], at: datetime
) -> tuple[Event, ...]:
    """`told`: those of the last look; what is as it was then is no news."""
    new = [alarm for alarm in alarms if alarm not in told]
    away = [alarm for alarm in new if alarm.kind == AlarmKind.UNREACHABLE]
    found = [alarm for alarm in new if alarm.kind != AlarmKind.UNREACHABLE]
    silent = (
        make_event(EventKind.SITE_SILENT, pipeline, at, alarm.text, alarm.subject) for alarm in away
    )
    return (*silent, *([_of_gaps(pipeline, found, at)] if found else []))


def _of_gaps(pipeline: str, alarms: list[Alarm], at: datetime) -> Event:
    """One for all of them: one person puts them right, with one form."""
    found = (_gap(alarm, alarm.part) for alarm in alarms if alarm.part)
    # What bronze misses and silver has is two alarms, and one replay.
    gaps = tuple(dict.fromkeys(found))
    sites = {gap.site for gap in gaps}
    first, more = alarms[0], len(alarms) - 1
    text = f"{first.name}: {first.text}" + (f", and {more} more" if more else "")
    site = sites.pop() if len(sites) == 1 else None
    return make_event(EventKind.GAP_FOUND, pipeline, at, text, site, gaps)


def _gap(alarm: Alarm, part: Part) -> Gap:
    source: Origin = "bronze" if alarm.kind == AlarmKind.UNREFINED else "kafka"
    return Gap(
        site=part.site,
        topic=part.topic,
        partition=part.partition,
        span=hull(alarm.ranges),
        source=source,
    )
