"""Acts of staff at the command line: one transaction, after which the running server is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from ...actors.kernel.errors import Refused
from .options import CommandRefused, settings_from

T = TypeVar("T")


class NotDone(CommandRefused):
    """Raised when an act can't be done. The text says why; nothing was changed."""


def allowed(outcome: T | Refused) -> T:
    """Return the outcome of an act. Raises NotDone for a refusal."""
    if isinstance(outcome, Refused):
        raise NotDone(outcome.text)
    return outcome


def act(config: Path | None, work: Callable[..., Awaitable[T]], *args: object, **chosen: object) -> T:
    """Run `work(connection, *args, ids, now)` in one transaction, with the settings chosen on the command line."""
    from .rows import transact

    return transact(settings_from(config, **chosen), work, *args)
