"""Devices that are there by TCP, by the name that each has said."""

from __future__ import annotations

from typing import Protocol

from millrace.gateway.commands.core.command import Command, command_line


class Hears(Protocol):
    def say(self, words: bytes) -> bool:
        """Whether they have left."""
        ...


class Devices:
    """Used by the event loop alone."""

    def __init__(self) -> None:
        self._there: dict[str, Hears] = {}

    def enter(self, name: str, connection: Hears) -> None:
        """A device that connects again has left its old connection, whatever that says."""
        self._there[name] = connection

    def leave(self, name: str, connection: Hears) -> None:
        if self._there.get(name) is connection:
            del self._there[name]

    def reaches(self, device: str) -> bool:
        return device in self._there

    def carry(self, command: Command) -> bool:
        connection = self._there.get(command.device)
        return connection is not None and connection.say(command_line(command))
