"""`troupe completion`: the script with which shells complete commands, options and names, and the names themselves.

Names are completed where it is cheap: the database is asked if it runs, and is never started.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_COMPLETED = 20


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes commands, options, and names of accounts and settings.

    \b
    bash:  troupe completion bash > /etc/bash_completion.d/troupe
    zsh:   troupe completion zsh > "${fpath[1]}/_troupe"
    fish:  troupe completion fish > ~/.config/fish/completions/troupe.fish

    Bash must be version 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    from . import troupe

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click completes nothing in {shell}.")
    click.echo(kind(troupe, {}, "troupe", "_TROUPE_COMPLETE").source())


def complete_account(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the local accounts whose names begin like this. A shell shows no errors, so there are none."""
    from click.shell_completion import CompletionItem

    from ...storage.accounts import find_names
    from ...storage.engine.connect import transact_once
    from ...storage.engine.database import StorageError
    from ...storage.engine.embedded import running_dsn
    from ..settings.sources import ConfigurationError, read_settings

    try:
        settings = read_settings({"data": ctx.params.get("data")}, os.environ, ctx.params.get("config"))
        url = settings.database_url
        dsn = url.get_secret_value() if url else running_dsn(settings.data)
        names = transact_once(dsn, find_names, incomplete.removeprefix("@"), MOST_COMPLETED) if dsn else []
    except (ConfigurationError, StorageError, OSError):
        return []
    return [CompletionItem(name) for name in names]
