"""Acts of staff at the command line: one transaction, after which the running server is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

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


def on_account(
    config: Path | None, work: Callable[..., Awaitable[T]], handle: str, *args: object, **chosen: object
) -> T:
    """Run `work(connection, handle, local_domain, *args, ids, now)` in one transaction."""
    from ..domain import base_url
    from .making import InvalidAccount
    from .rows import transact

    settings = settings_from(config, **chosen)
    try:
        return transact(settings, work, handle, urlsplit(base_url(settings)).netloc, *args)
    except InvalidAccount as unfit:
        raise NotDone(f"{unfit}.") from None
