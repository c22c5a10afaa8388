"""Several drivers at one log: what is acknowledged stays; what is taken is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.base.addresses import LOCAL_NAMES
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.storage.core.bucket import Bucket, java_options, spark_settings
from millrace.storage.io.objects import objects_at
from tests.integration.stands.lake.faulty_store import (
    Fault,
    faulty,
    lose_answer,
    refuse_as_conflict,
)
from tests.integration.stands.lake.log_store_race import Outcome, Race, compile_racer, lost_commits
from tests.integration.stands.lake.object_store import RunningStore

LOCAL = "fs.file.impl=millrace.fs.LocalFs\nfs.AbstractFileSystem.file.impl=millrace.fs.LocalContext"


@pytest.fixture(scope="session")
def racer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_racer(tmp_path_factory.mktemp("racer"))


def race_in_folder(store: str, racer: Path, log: Path) -> tuple[list[Outcome], int]:
    log.mkdir()
    settings = log.with_suffix(".settings")
    settings.write_text(LOCAL)
    outcomes = Race(store, log.as_uri(), racer, settings).run()

    def read(version: int) -> str | None:
        file = log / f"{version:020d}.json"
        return file.read_text() if file.exists() else None

    return outcomes, lost_commits(outcomes, read)


def assert_one_winner_each(outcomes: list[Outcome], versions: int = 200) -> None:
    assert [outcome.failed for outcome in outcomes] == [[], [], []]
    acked = sorted(version for outcome in outcomes for version in outcome.acked)
    assert acked == list(range(versions))
    assert all(outcome.acked for outcome in outcomes), "there was no race"


def test_in_a_folder_every_acknowledged_commit_stays(racer: Path, tmp_path: Path) -> None:
    outcomes, lost = race_in_folder("millrace.logstore.LocalLogStore", racer, tmp_path / "ours")
    assert lost == 0
    assert_one_winner_each(outcomes)
    assert list((tmp_path / "ours").glob(".*")) == [], "a draft is left"


def test_the_race_is_one_that_deltas_own_store_loses(racer: Path, tmp_path: Path) -> None:
    lost = (
        race_in_folder("io.delta.storage.HDFSLogStore", racer, tmp_path / str(attempt))[1]
        for attempt in range(3)
    )
    assert any(lost)


def race_in_bucket(
    store: str, racer: Path, bucket: Bucket, folder: Path, **changes: object
) -> tuple[list[Outcome], int]:
    """The log is named as the test's folder is, so that no two tests meet."""
    log = f"{bucket.uri}/races/{folder.name}/{store}"
    settings = folder / "hadoop.properties"
    hadoop = {k: v for k, v in spark_settings(bucket).items() if k.startswith("spark.hadoop.")}
    lines = (f"{key.removeprefix('spark.hadoop.')}={value}" for key, value in hadoop.items())
    settings.write_text("\n".join(lines))
    outcomes = Race(store, log, racer, settings, java_options(bucket), **changes).run()
    versions = objects_at(log, bucket)
    return outcomes, lost_commits(outcomes, lambda version: versions.read(f"{version:020d}.json"))


OURS = "millrace.logstore.S3LogStore"


def test_in_a_bucket_every_acknowledged_commit_stays(
    racer: Path, store: RunningStore, tmp_path: Path, full: bool
) -> None:
    versions = 200 if full else 50
    outcomes, lost = race_in_bucket(OURS, racer, store.bucket, tmp_path, versions=versions)
    assert lost == 0
    assert_one_winner_each(outcomes, versions)


def test_in_a_bucket_deltas_own_store_loses_acknowledged_commits(
    racer: Path, store: RunningStore, tmp_path: Path, full: bool
) -> None:
    versions = 200 if full else 30
    deltas = "io.delta.storage.S3SingleDriverLogStore"
    outcomes, lost = race_in_bucket(deltas, racer, store.bucket, tmp_path, versions=versions)
    assert lost > 0
    assert sum(len(outcome.acked) for outcome in outcomes) > versions


@pytest.mark.parametrize("fault", [lose_answer, refuse_as_conflict])
def test_a_commit_that_met_a_fault_is_acknowledged_once_it_is_there(
    racer: Path, store: RunningStore, tmp_path: Path, fault: object
) -> None:
    with faulty(store.bucket, *certificate(store)) as proxy:
        met = proxy.add(Fault("PUT", r"0000\.json", fault))
        outcomes, lost = alone(racer, proxy.bucket, tmp_path)
    assert met.happened == 1
    assert (list(outcomes.acked), outcomes.failed, lost) == ([0], [], 0)


@pytest.mark.parametrize("fault", [lose_answer, refuse_as_conflict])
def test_a_version_that_another_has_is_refused_whatever_is_lost(
    racer: Path, store: RunningStore, tmp_path: Path, fault: object
) -> None:
    place = f"{store.bucket.uri}/races/{tmp_path.name}/{OURS}"
    assert objects_at(place, store.bucket).put_new(f"{0:020d}.json", "another's")
    with faulty(store.bucket, *certificate(store)) as proxy:
        proxy.add(Fault("PUT", r"0000\.json", fault))
        outcomes, _ = alone(racer, proxy.bucket, tmp_path)
    assert (list(outcomes.refused), outcomes.failed) == ([0], [])


def test_a_conflict_that_does_not_end_fails_the_commit(
    racer: Path, store: RunningStore, tmp_path: Path
) -> None:
    with faulty(store.bucket, *certificate(store)) as proxy:
        proxy.add(Fault("PUT", r"0000\.json", refuse_as_conflict, times=1_000))
        outcomes, _ = alone(racer, proxy.bucket, tmp_path)
    assert (outcomes.acked, outcomes.refused, len(outcomes.failed)) == ({}, {}, 1)


def alone(racer: Path, bucket: Bucket, folder: Path) -> tuple[Outcome, int]:
    outcomes, lost = race_in_bucket(OURS, racer, bucket, folder, versions=1, names=("red",))
    return outcomes[0], lost


def certificate(store: RunningStore) -> tuple[Path, Path]:
    return ensure_server_certificate(store.layout, "proxy", LOCAL_NAMES)
