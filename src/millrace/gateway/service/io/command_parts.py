"""All that commands need: the topic they come from, the desk, the spool of their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from millrace.gateway.commands.core.command_states import Rules
from millrace.gateway.commands.io.command_feed import Arrived, CommandFeed
from millrace.gateway.commands.io.commander import Commander
from millrace.gateway.commands.io.memory_file import MemoryFile
from millrace.gateway.delivery.io.courier import courier_of
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.gateway.spec.core.input_specs import SpoolSpec
from millrace.gateway.spec.io.gateway_settings import read_client, read_login, site_of
from millrace.gateway.spool.core.bounds import AtBound
from millrace.gateway.spool.io.committer import Committer, Outcome, ReceivedBatch
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.status.core.gateway_state import CommandsState
from millrace.kafka.core.platform_topics import COMMANDS

_BOUNDS = SpoolSpec(size=64 << 20, segment=1 << 20).bounds
_HAND_OVER_S = 30.0


class CommandLine:
    """Built and used in the event loop."""

    def __init__(
        self,
        spec: GatewaySpec,
        tell: Callable[[list[tuple[ReceivedBatch, Outcome]]], None],
        wake: Callable[[], None],
    ) -> None:
        folder = spec.data / COMMANDS
        spool = Spool(folder / "spool", _BOUNDS)
        self._loop = asyncio.get_running_loop()
        # An outcome is never refused: it waits for room.
        self._committer = Committer(COMMANDS, spool, AtBound.BLOCK, tell, lambda _: wake())
        self.courier = courier_of(spec.site, COMMANDS, spool, folder)
        rules = Rules(devices=spec.commands.devices, most_open=spec.commands.most_open)
        self.commander = Commander(MemoryFile(folder / "memory.json"), rules, self._committer)
        settings = read_client(spec)
        self._feed = CommandFeed(
            site_of(spec, settings),
            settings,
            partial(read_login, spec, settings),
            self.commander.positions,
            self._take,
            lambda: self.commander.is_crowded,
        )

    @property
    def failure(self) -> BaseException | None:
        return self._committer.failure or self.commander.failure or self._feed.failure

    def look(self) -> CommandsState:
        return CommandsState(
            open=self.commander.open_count,
            obstacle=self._committer.obstacle or self._feed.obstacle,
        )

    def start(self) -> None:
        self._committer.start()
        self.commander.start()
        self._feed.start()

    async def end(self) -> None:
        """What is decided is kept; what is open is taken up by the next start."""
        self._feed.end()
        await asyncio.to_thread(self._feed.join)
        await self.commander.end()
        await asyncio.to_thread(self._committer.end)

    def close(self) -> None:
        self._committer.spool.close()

    def _take(self, arrived: list[Arrived], positions: dict[int, int]) -> None:
        taken = asyncio.run_coroutine_threadsafe(
            self.commander.take(arrived, positions), self._loop
        )
        taken.result(_HAND_OVER_S)
