"""Reads what jobs wrote down, fast enough for hundreds of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from millrace.base.errors import MillraceError, TransientError
from millrace.base.hidden import hidden_lines
from millrace.fleet.core.incident_card import IncidentLine, list_incidents
from millrace.fleet.core.job_card import JobCard, JobPage, make_job_card, make_job_page
from millrace.fleet.core.pipeline_card import Card, Page, QualityVerdict, make_card, make_page
from millrace.fleet.core.platform_status import RelayStatus, describe_relay, tables_of
from millrace.fleet.core.site_card import SitePage, make_site_page
from millrace.incidents.io.incident_folders import Incidents
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.core.ingest_spec import INGEST
from millrace.ingest.io.ingest_deployment import read_alone
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.core.journal import Journal
from millrace.jobs.io.deployments import deployment_file, provisioned_jobs, recall
from millrace.jobs.io.installed_kinds import load_kind
from millrace.jobs.io.load_runner import load_runner
from millrace.jobs.io.mailbox import Mailbox, open_mailbox
from millrace.lake.core.quarantine import Refused
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import pipeline_files
from millrace.platform.core.platform import Platform
from millrace.quality.core.quality_task import QualityResult
from millrace.relay.io.beat_files import read_relay_beat
from millrace.secrets.core.certificates import read_certificate
from millrace.secrets.io.passwords import known_users
from millrace.sites.core.spec import SiteSpec
from millrace.specs.spec_files import load_file
from millrace.storage.io.files import read_text

_RESULT = "result.json"
_REFUSED_SHOWN = 20
Stamp = tuple[int, int]
Read = TypeVar("Read")
Beat = TypeVar("Beat", bound=Heartbeat)


@dataclass
class Remembered(Generic[Read]):
    """What was made of files; made again where a file has changed since."""

    _known: dict[Path, tuple[Stamp, Read]] = field(default_factory=dict)

    def get(self, file: Path, read: Callable[[], Read]) -> Read:
        stamp = _stamp(file)
        known = self._known.get(file)
        if known is None or known[0] != stamp:
            known = self._known[file] = (stamp, read())
        return known[1]


@dataclass
class StatusView:
    layout: Platform
    _specs: Remembered[PipelineSpec | None] = field(default_factory=Remembered)
    _verdicts: Remembered[QualityVerdict | None] = field(default_factory=Remembered)
    _deployments: Remembered[Deployment | None] = field(default_factory=Remembered)

    def pipelines(self) -> dict[str, PipelineSpec]:
        specs = (self._spec(file) for file in pipeline_files(self.layout))
        return {spec.name: spec for spec in specs if spec}

    def card(self, spec: PipelineSpec) -> Card:
        beat, journal = self._written_of(spec)
        return self._card(spec, beat, journal)

    def page(self, spec: PipelineSpec) -> Page:
        beat, journal = self._written_of(spec)
        tables = tables_of(spec, self.layout.tables(spec.table))
        return make_page(self._card(spec, beat, journal), beat, journal, tables)

    def jobs(self) -> dict[str, Deployment]:
        """Jobs of other kinds than pipelines', as they were provisioned last."""
        found = (self._deployment(name) for name in provisioned_jobs(self.layout))
        return {one.id: one for one in found if one and one.kind != INGEST}

    def job_card(self, deployment: Deployment) -> JobCard:
        return self._job_card(deployment, *self._job_written(deployment))

    def job_page(self, deployment: Deployment) -> JobPage:
        beat, journal = self._job_written(deployment)
        return make_job_page(self._job_card(deployment, beat, journal), journal)

    def _job_card(
        self, deployment: Deployment, beat: Heartbeat | None, journal: Journal
    ) -> JobCard:
        dag_id = load_kind(deployment.kind).dag_id(deployment.id)
        return make_job_card(deployment, dag_id, beat, journal, datetime.now(UTC))

    def _job_written(self, deployment: Deployment) -> tuple[Heartbeat | None, Journal]:
        form: type[Heartbeat] = load_kind(deployment.kind).beat
        return self._written(form, deployment.id, is_remote=deployment.is_remote)

    def _deployment(self, name: str) -> Deployment | None:
        file = deployment_file(self.layout, name)
        return self._deployments.get(file, lambda: recall(self.layout, name))

    def site_page(self, name: str, readers: Iterable[str]) -> SitePage | None:
        """Of a site whose file can be read; `readers` are pipelines that may be told of."""
        file = self.layout.sites / f"{name}.yaml"
        try:
            spec = load_file(file, SiteSpec) if file.exists() else None
        except MillraceError:
            spec = None
        if spec is None:
            return None
        reading = [one for one in self.pipelines().values() if one.name in set(readers)]
        beats = {one.name: beat for one in reading if (beat := self._written_of(one)[0])}
        users = tuple(known_users(self.layout, name))
        return make_site_page(spec, beats, users, self._papers(name))

    def _papers(self, site: str) -> dict[str, datetime]:
        broker = self.layout.broker_certificate(site)
        files = [
            *sorted(self.layout.keys(site).glob("*.pem")),
            *([broker] if broker.exists() else []),
        ]
        return {file.stem: read_certificate(file.read_text()).not_valid_after_utc for file in files}

    def quality_page(self, name: str) -> str | None:
        return read_text(self.layout.quality(name) / "latest" / "page.html")

    def refused(self, spec: PipelineSpec) -> list[Refused]:
        from millrace.lake.io.refused_rows import newest_refused
        from millrace.lake.io.tables import NoTableError

        place = self.layout.table("quarantine", spec.table)
        try:
            return newest_refused(place, self.layout.bucket, _REFUSED_SHOWN)
        except NoTableError:  # none was refused so far, or the pipeline has bronze alone
            return []

    def log(self, runner: str, job_id: str, lines: int) -> tuple[str, ...]:
        """The end of a job's log, or why there is none to be had."""
        try:
            found = load_runner(runner, self.layout).log_tail(job_id, lines)
        except MillraceError as error:
            return (f"the log cannot be read: {error}",)
        return hidden_lines(found)

    def relays(self) -> dict[str, RelayStatus]:
        """Those that ever ran; one that ended has been silent since."""
        names = sorted(file.stem for file in self.layout.relays.glob("*.yaml"))
        beats = {name: read_relay_beat(self.layout, name) for name in names}
        now = datetime.now(UTC)
        return {n: describe_relay(beat, runs=True, now=now) for n, beat in beats.items() if beat}

    def incidents(
        self, pipelines: Container[str], jobs: Container[str]
    ) -> tuple[IncidentLine, ...]:
        return list_incidents(Incidents(self.layout.incidents).newest_first(), pipelines, jobs)

    def incident(self, incident_id: str) -> tuple[str, str] | None:
        """Whose it is, and its page."""
        store = Incidents(self.layout.incidents)
        found, page = store.read(incident_id), store.page(incident_id)
        return (found.pipeline, page) if found and page else None

    def _card(self, spec: PipelineSpec, beat: IngestBeat | None, journal: Journal) -> Card:
        sites = tuple(site.site for site in beat.sites) if beat else ()
        return make_card(
            spec,
            sites or (spec.sites if spec.sites != "all" else ()),
            beat,
            journal,
            datetime.now(UTC),
            self._verdict(spec.name),
            self._maintained_at(spec.name),
        )

    def _written_of(self, spec: PipelineSpec) -> tuple[IngestBeat | None, Journal]:
        return self._written(IngestBeat, spec.name, is_remote=spec.is_remote)

    def _written(
        self, form: type[Beat], job_id: str, *, is_remote: bool
    ) -> tuple[Beat | None, Journal]:
        try:
            beat = open_mailbox(self.layout, job_id, is_remote=is_remote).read_heartbeat(form)
        except TransientError:
            beat = None  # A bucket that is away hides nothing else.
        return beat, Mailbox(self.layout.job(job_id)).read_journal()

    def _spec(self, file: Path) -> PipelineSpec | None:
        return self._specs.get(file, lambda: read_alone(self.layout, file.stem))

    def _verdict(self, name: str) -> QualityVerdict | None:
        file = self.layout.quality(name) / "latest" / _RESULT
        return self._verdicts.get(file, lambda: _read_verdict(file))

    def _maintained_at(self, name: str) -> datetime | None:
        """Folders of tasks begin with their time, so the last by name is the newest."""
        tasks = self.layout.task(name, "")
        for folder in sorted(tasks.glob("*-maintain"), reverse=True):
            result = folder / _RESULT
            if result.exists():
                return datetime.fromtimestamp(result.stat().st_mtime, UTC)
        return None


def _read_verdict(file: Path) -> QualityVerdict | None:
    text = read_text(file)
    if text is None:
        return None
    result = QualityResult.model_validate_json(text)
    return QualityVerdict(
        passed=result.passed, worst=result.worst, rows=result.rows, at=result.checked_at
    )


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
