"""`troupe completion`: what shells need to complete commands, options and names."""

from __future__ import annotations

import click


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what SHELL needs to complete commands, options, and names of accounts and settings.

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
