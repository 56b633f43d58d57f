"""Completion of names in the shell, where it is cheap: the database is asked if it runs, and is never started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST = 20


def complete_account(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the local accounts whose names begin like this. A shell shows no errors, so there are none."""
    from click.shell_completion import CompletionItem

    from ...storage.accounts import find_names
    from ...storage.engine.connect import transact_once
    from ...storage.engine.database import StorageError
    from ...storage.engine.embedded import running_dsn
    from ..sources import ConfigurationError, read_settings

    try:
        settings = read_settings({"data": ctx.params.get("data")}, os.environ, ctx.params.get("config"))
        url = settings.database_url
        dsn = url.get_secret_value() if url else running_dsn(settings.data)
        names = transact_once(dsn, find_names, incomplete.removeprefix("@"), MOST) if dsn else []
    except (ConfigurationError, StorageError, OSError):
        return []
    return [CompletionItem(name) for name in names]
