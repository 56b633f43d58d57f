"""`troupe config`: the settings, where each value comes from, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..sources import ConfigurationError, SettingsSources, nearest, read_settings, unknown_variables
from .options import WrongOption, json_option, print_json, setting_options, sources_from

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from .setting_values import SettingValue

# The options of `serve`: what is started with them can be looked at with them.
OPTIONS = ("host", "port", "socket", "data", "node", "domain", "takeover", "fast_path")


@click.group
def config() -> None:
    """The settings: whether they can be used, their values, and where each value comes from.

    The command line comes first, then the environment, then the file, then the default. What was changed while the
    server runs (`troupe settings`) comes before all of them. Secrets are never shown.

    The content of a file can be the value of a secret: TROUPE_SMTP_PASSWORD_FILE=/run/secrets/smtp names the file for
    smtp_password.
    """


@config.command
@json_option
@setting_options(*OPTIONS)
def check(config: Path | None, as_json: bool, **chosen: str | None) -> None:
    """Read the settings as `troupe serve` would, and name all that are wrong.

    Nothing is started and no database is asked; `troupe doctor` looks at what the settings lead to.
    """
    wrong: list[str] = []
    try:
        read_settings(chosen, os.environ, config)
    except ConfigurationError as error:
        wrong = str(error).splitlines()
    ignored = unknown_variables(os.environ)
    if as_json:
        print_json({"usable": not wrong, "wrong": wrong, "ignored": ignored})
    else:
        for line in wrong:
            click.echo(line)
        for line in ignored:
            click.echo(f"Ignored: {line}")
        click.echo("The settings can't be used." if wrong else "The settings can be used.")
    if wrong:
        raise SystemExit(2)


@config.command
@click.option("--all", "everything", is_flag=True, help="Show the settings with their default too.")
@json_option
@setting_options(*OPTIONS)
def show(config: Path | None, everything: bool, as_json: bool, **chosen: str | None) -> None:
    """Show the settings that are not at their default, each with its value and its source."""
    values = _values(sources_from(config, **chosen))
    shown = [one for one in values.values() if everything or one.source.kind != "default"]
    if as_json:
        print_json([one.as_json() for one in shown])
    else:
        for line in _table(shown):
            click.echo(line)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from ..configuration import Settings

    begun = incomplete.lower().replace("-", "_")
    return [CompletionItem(name) for name in Settings.model_fields if name.startswith(begun)]


@config.command
@click.argument("name", required=False, shell_complete=_complete)
@json_option
@setting_options(*OPTIONS)
def explain(config: Path | None, name: str | None, as_json: bool, **chosen: str | None) -> None:
    """Explain a setting, or all: its meaning, its value, all places that set it, and which of them counts."""
    values = _values(sources_from(config, **chosen))
    if name is None:
        asked = list(values.values())
    elif (known := name.lower().removeprefix("troupe_").replace("-", "_")) in values:
        asked = [values[known]]
    else:
        raise WrongOption(f"{name} names no setting{nearest(name)}")
    if as_json:
        print_json([one.as_json() for one in asked] if name is None else asked[0].as_json())
    else:
        click.echo("\n\n".join("\n".join(one.explanation()) for one in asked))


def _values(sources: SettingsSources) -> Mapping[str, SettingValue]:
    from .setting_values import changed_settings_of, values_of

    changed, why_not = changed_settings_of(sources.settings)
    if why_not:
        click.echo(f"What was changed while the server ran is missing here: {why_not}", err=True)
    return values_of(sources, changed)


def _table(values: Sequence[SettingValue]) -> Iterator[str]:
    width = max((len(one.name) for one in values), default=0)
    for one in values:
        yield f"{one.name:<{width}} = {one.text}  ({one.source.place})"
