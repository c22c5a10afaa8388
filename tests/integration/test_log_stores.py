"""Several drivers at one log: what is acknowledged stays; what is taken is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.log_store_race import Outcome, Race, compile_racer, lost_commits

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
