"""A commander that is killed between what it decides and what the spool has of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.gateway.commands.core.command import Command, CommandOutcome
from millrace.gateway.commands.core.command_states import Rules
from millrace.gateway.commands.io.command_feed import Arrived
from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.commands.io.memory_file import MemoryFile
from millrace.gateway.spool.io.committer import ReceivedBatch
from tests.support import wait_until

NOW = datetime.now(UTC)
RULES = Rules(devices=frozenset({"press"}), most_open=1)


class Spool:
    def __init__(self) -> None:
        self.kept: dict[str, CommandOutcome] = {}

    def last_of(self, origin: bytes) -> int:
        return 1 if origin.decode().removeprefix("command/") in self.kept else 0


class Committer:
    """Takes what is submitted, and keeps it when it is let."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self._waiting: list[ReceivedBatch] = []

    def submit(self, batch: ReceivedBatch) -> None:
        self._waiting.append(batch)

    def commit(self) -> None:
        for batch in self._waiting:
            outcome = CommandOutcome.model_validate_json(batch.drafts[0].value)
            assert outcome.id not in self.spool.kept
            self.spool.kept[outcome.id] = outcome
            batch.answer(batch, [])
        self._waiting.clear()


def arrived(offset: int, device: str, life: timedelta = timedelta(minutes=5)) -> Arrived:
    command = Command(
        id=f"c{offset}", device=device, name="open", issued_at=NOW, expires_at=NOW + life
    )
    return Arrived(0, offset, int(NOW.timestamp() * 1000), command.model_dump_json().encode())


REFUSED = {
    "unknown device": arrived(7, "nobody"),
    "expired": arrived(8, "press", timedelta(microseconds=1)),
    "refused": arrived(9, "press", timedelta(days=8)),
}


def run(spool: Spool, file: Path, act: Callable[[Commander, Committer], Awaitable[None]]) -> None:
    """From a start to a kill."""

    async def life() -> None:
        committer = Committer(spool)
        commander = Commander(MemoryFile(file), RULES, committer)  # type: ignore[arg-type]
        commander.start()
        await act(commander, committer)
        await commander.end()

    asyncio.run(life())


@pytest.mark.parametrize("verdict", REFUSED)
def test_an_outcome_that_is_decided_at_once_outlasts_a_kill_before_the_spool_has_it(
    tmp_path, verdict
):
    spool, file, command = Spool(), tmp_path / "memory.json", REFUSED[verdict]

    async def take(commander: Commander, _: Committer) -> None:
        await commander.take([command], {0: command.offset + 1})
        positions = {0: command.offset + 1}
        await asyncio.to_thread(wait_until, lambda: MemoryFile(file).read().positions == positions)

    async def start(commander: Commander, committer: Committer) -> None:
        assert commander.positions == {0: command.offset + 1}
        committer.commit()

    run(spool, file, take)
    assert spool.kept == {}
    run(spool, file, start)
    assert [one.outcome.value for one in spool.kept.values()] == [verdict]
    run(spool, file, start)
    assert len(spool.kept) == 1


def test_while_outcomes_wait_for_room_no_more_commands_are_taken(tmp_path):
    async def take(commander: Commander, committer: Committer) -> None:
        await commander.take([REFUSED["unknown device"]], {0: 8})
        assert commander.is_crowded
        committer.commit()
        assert not commander.is_crowded

    run(Spool(), tmp_path / "memory.json", take)
