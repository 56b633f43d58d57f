"""`troupe settings`: settings that change while the server runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .acting import act
from .options import setting_options, settings_from

if TYPE_CHECKING:
    from ...storage.changed_settings import LogLevel, Registrations


@click.group
def settings() -> None:
    """Settings that change while the server runs. They come before those of files and the environment."""


@settings.command
@click.argument("rule", type=click.Choice(["open", "approval", "closed"]), required=False)
@click.option("--reset", is_flag=True, help="Forget the choice: the setting `registrations` holds again.")
@setting_options("data")
def registrations(rule: Registrations | None, reset: bool, data: str | None, config: Path | None) -> None:
    """Choose who may sign up: everybody, those that staff approve, or no one. Without RULE, print which rule holds.

    The choice stays until the next one, or until --reset, also after a restart.
    """
    from .changing_settings import change, explained

    chosen = settings_from(config, data=data)
    if rule is not None and reset:
        raise click.UsageError("Choose a rule, or say --reset.")
    if rule is not None or reset:
        act(config, change, rule, data=data)
    click.echo(act(config, explained, chosen.registrations, chosen.sends_mail, data=data))


@settings.command("log-level")
@click.argument("level", type=click.Choice(["info", "warning", "error"]), required=False)
@click.option("--reset", is_flag=True, help="Forget the choice: the setting `log_level` holds again.")
@setting_options("data")
def log_level(level: LogLevel | None, reset: bool, data: str | None, config: Path | None) -> None:
    """Choose the lowest level of records that the log writes. Without LEVEL, print which one holds.

    The running server writes accordingly at once. The choice stays until the next one, or until --reset, also after a
    restart.
    """
    from .changing_settings import change_level, explained_level

    if level is not None and reset:
        raise click.UsageError("Choose a level, or say --reset.")
    if level is not None or reset:
        act(config, change_level, level, data=data)
    click.echo(act(config, explained_level, settings_from(config, data=data).log_level, data=data))
