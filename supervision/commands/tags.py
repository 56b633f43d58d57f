"""`troupe tags`: which hashtags may trend."""

from __future__ import annotations

from pathlib import Path

import click

from .options import CommandRefused, setting_options, settings_from


@click.group
def tags() -> None:
    """Hashtags, and whether they may trend."""


@tags.command
@click.argument("name")
@setting_options("data")
def allow(name: str, data: str | None, config: Path | None) -> None:
    """Let the hashtag NAME trend."""
    click.echo(f"Allowed #{_review(name, data, config, trendable=True)}")


@tags.command
@click.argument("name")
@setting_options("data")
def forbid(name: str, data: str | None, config: Path | None) -> None:
    """Keep the hashtag NAME out of the trends."""
    click.echo(f"Forbade #{_review(name, data, config, trendable=False)}")


@tags.command
@setting_options("data")
def waiting(data: str | None, config: Path | None) -> None:
    """List the hashtags that would trend and are not reviewed, one a line, the first one most."""
    from .reviewing import find_waiting
    from .rows import transact

    for name in transact(settings_from(config, data=data), find_waiting):
        click.echo(f"#{name}")


def _review(name: str, data: str | None, config: Path | None, *, trendable: bool) -> str:
    from .reviewing import UnknownTag, review
    from .rows import transact

    try:
        return transact(settings_from(config, data=data), review, name, trendable)
    except UnknownTag as unknown:
        raise CommandRefused(f"{unknown}.") from None
