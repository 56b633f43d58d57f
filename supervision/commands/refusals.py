"""Errors that commands share, each with its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from ...actors.kernel.errors import Refused

T = TypeVar("T")


class CommandRefused(click.ClickException):
    """Raised when the command can't be done. The text says why; nothing was changed."""

    exit_code = 1


class WrongValue(CommandRefused):
    """Raised for a value that can never be right, such as a malformed domain."""

    exit_code = 2


class Unfit(CommandRefused):
    """Raised with a text without its full stop, because an import names the line or the file in front of it."""

    def format_message(self) -> str:
        return f"{self.message}."


def require(outcome: T | Refused) -> T:
    """Return the outcome of an act. Raises CommandRefused if it was refused."""
    from ...actors.kernel.errors import Refused

    if isinstance(outcome, Refused):
        raise CommandRefused(f"{outcome.text.removeprefix('Validation failed: ').rstrip('.')}.")
    return outcome
