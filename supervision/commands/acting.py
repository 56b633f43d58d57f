"""Acts of staff at the command line: one transaction, after which the running server is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from ...actors.kernel.errors import Refused
from ..configuration import Settings
from .options import CommandRefused, settings_from

T = TypeVar("T")


class NotDone(CommandRefused):
    """Raised when an act can't be done. The text says why; nothing was changed."""


class WrongValue(NotDone):
    """Raised for a value that is never right, such as a domain that is none."""

    exit_code = 2


def allowed(outcome: T | Refused) -> T:
    """Return the outcome of an act. Raises NotDone for a refusal."""
    if isinstance(outcome, Refused):
        raise NotDone(f"{outcome.text.removeprefix('Validation failed: ').rstrip('.')}.")
    return outcome


def local_domain_of(settings: Settings) -> str:
    """Return the domain of the server whose data the settings name."""
    from ..domain import base_url

    return urlsplit(base_url(settings)).netloc


def act(
    config: Path | None, work: Callable[..., Awaitable[T]], *args: object, dry_run: bool = False, **chosen: object
) -> T:
    """Run `work(connection, *args, ids, now)` in one transaction, with the settings chosen on the command line.

    With `dry_run` all that it did is taken back.
    """
    from .rows import transact

    return transact(settings_from(config, **chosen), work, *args, dry_run=dry_run)


def on_account(
    config: Path | None,
    work: Callable[..., Awaitable[T]],
    handle: str,
    *args: object,
    dry_run: bool = False,
    **chosen: object,
) -> T:
    """Run `work(connection, handle, local_domain, *args, ids, now)` in one transaction, as `act` does."""
    from .finding import InvalidAccount, WrongAccount
    from .rows import transact

    settings = settings_from(config, **chosen)
    try:
        return transact(settings, work, handle, local_domain_of(settings), *args, dry_run=dry_run)
    except WrongAccount as wrong:
        raise WrongValue(f"{wrong}.") from None
    except InvalidAccount as unfit:
        raise NotDone(f"{unfit}.") from None
