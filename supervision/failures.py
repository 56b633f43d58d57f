"""Errors that end the server or a command, as the operator reads them: a line and an exit code."""

from __future__ import annotations

import click

from ..actors.memory.push_key import UnusablePushKey
from ..storage.engine.clients import ClientFailed
from ..storage.engine.cluster import EmbeddedFailed
from ..storage.engine.data_folder import UnfinishedRestore
from ..storage.engine.database import Fenced, StorageError, is_group
from ..storage.engine.migrate import MigrationRefused
from ..storage.engine.term import AnotherNode
from .backups.errors import BackupFailed
from .settings.domain import OtherDomain
from .supervisor import GaveUp

FAILED = 70  # EX_SOFTWARE


class CannotListen(Exception):
    """Raised when the address is in use or does not belong to this machine."""


class WrongProcesses(Exception):
    """Raised for settings with which several processes can't serve together."""


class NoBroker(Exception):
    """Raised when several processes have no NATS server through which they can talk."""


class Failure(click.ClickException):
    """An error with its line and its exit code."""

    def __init__(self, error: Exception) -> None:
        super().__init__(_line(error))
        self.error = error


class NothingDone(Failure):
    """The command was not done, for the reason given."""

    exit_code = 1


class WrongSetting(Failure):
    """A setting is wrong."""

    exit_code = 2


class NoDatabase(Failure):
    """PostgreSQL can't be reached or used."""

    exit_code = 69  # EX_UNAVAILABLE


class ServerFailed(Failure):
    """The server can't go on."""

    exit_code = FAILED


# The first class that fits counts. Of several errors at the same time, the error whose class is first is reported.
FAILURES: tuple[tuple[type[Exception], type[Failure]], ...] = (
    (Fenced, ServerFailed),
    (GaveUp, ServerFailed),
    (AnotherNode, NothingDone),
    (MigrationRefused, NothingDone),
    (OtherDomain, WrongSetting),
    (UnfinishedRestore, NothingDone),
    (BackupFailed, NothingDone),
    (ClientFailed, NothingDone),
    (UnusablePushKey, NothingDone),
    (CannotListen, NothingDone),
    (WrongProcesses, WrongSetting),
    (NoBroker, NothingDone),
    (EmbeddedFailed, NoDatabase),
    (StorageError, NoDatabase),
    (OSError, NothingDone),
)


def explained(error: BaseException) -> Failure | None:
    """Return the line and the exit code for an error. None for a bug, whose traceback is needed."""
    found: list[tuple[int, Exception]] = []
    for leaf in _leaves(error):
        place = next((place for place, (kind, _) in enumerate(FAILURES) if isinstance(leaf, kind)), None)
        if place is None or not isinstance(leaf, Exception):
            return None
        found.append((place, leaf))
    place, first = min(found, key=lambda failure: failure[0])
    return FAILURES[place][1](first)


def _leaves(error: BaseException) -> list[BaseException]:
    return [leaf for inner in error.exceptions for leaf in _leaves(inner)] if is_group(error) else [error]


def text_of(error: Exception) -> str:
    """Return the text of an error for people: without the `[Errno …]` that Python puts before errors of the machine."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _line(error: Exception) -> str:
    text = text_of(error)
    if isinstance(error, StorageError) and not isinstance(error, Fenced):
        text = f"The database can't be used: {text}"
    return " ".join(text.split()) or type(error).__name__
