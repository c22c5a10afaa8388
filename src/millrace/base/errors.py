"""Errors a user can cause. The command line prints them as one message and exits with 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class MillraceError(Exception):
    """Something the user can put right; the text says what and how."""


@dataclass(frozen=True)
class Place:
    """Where in a file a value stands."""

    file: Path
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


class SpecError(MillraceError):
    """A file says something that Millrace does not understand."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


class UnknownKeyError(SpecError):
    """A key that no such file has."""


class MissingKeyError(SpecError):
    """A key that every such file needs."""


class BadValueError(SpecError):
    """A key with a value it cannot take."""


class SpecErrors(MillraceError):
    """All that is wrong in a set of files, so that one run shows everything."""

    def __init__(self, errors: list[SpecError]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = errors


class JobFailedError(MillraceError):
    """A job cannot be kept running; the text holds exit code, cause and last lines."""


class TransientError(MillraceError):
    """May pass by itself, such as a broker that is not up yet: worth another try."""


class StoreUnreachableError(TransientError):
    """The object store does not answer, or not as it should."""


class StoreConflictError(StoreUnreachableError):
    """Another put of the same name is under way, and may yet fail."""


class StoreRefusedError(MillraceError):
    """The object store answers, and will not."""


class RunnerUnreachableError(TransientError):
    """The service that runs jobs does not answer, or asks for patience."""


class RunnerRefusedError(MillraceError):
    """The service that runs jobs answers, and will not."""


class GenerationTakenError(RunnerRefusedError):
    """The service was asked to start this generation before, and in other words."""
