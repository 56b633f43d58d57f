"""`troupe config`: the settings, where each value comes from, and their errors."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ...actors.configuration import Settings
from ...storage.engine.database import StorageError
from ...storage.engine.json_values import JsonObject
from ..settings.sources import (
    MASK,
    SECRETS,
    ConfigurationError,
    SettingsSources,
    Source,
    default,
    example_of,
    meaning,
    nearest,
    read_settings,
    unknown_variables,
    variable,
    written,
)
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options
from .refusals import WrongValue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ...storage.engine.database import Connection
    from .rows import Here

WIDTH = 100

# The options of `serve`, so that a server that was started with them can be inspected.
OPTIONS = ("host", "port", "socket", "data", "node", "domain", "takeover", "fast_path")


@click.group
def config() -> None:
    """The settings: whether they can be used, their values, and where each value comes from.

    The command line comes first, then the environment, then the file, then the default. Changes while the server
    runs (`troupe settings`) come before all of them. Secrets are never shown.

    The content of a file can be the value of a secret: TROUPE_SMTP_PASSWORD_FILE=/run/secrets/smtp names the file for
    smtp_password.
    """


@config.command
@json_option
@setting_options(*OPTIONS)
def check(server: ChosenServer, as_json: bool) -> None:
    """Read the settings as `troupe serve` would, and report all errors.

    Nothing is started and no database is asked; `troupe doctor` tests the things that the settings name.
    """
    wrong: list[str] = []
    try:
        read_settings(server.chosen, os.environ, server.config)
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
def show(server: ChosenServer, everything: bool, as_json: bool) -> None:
    """Show the settings that are not at their default, each with its value and its source."""
    values = _values(server)
    shown = [value for value in values.values() if everything or value.source.kind != "default"]
    if as_json:
        print_json([value.as_json() for value in shown])
    else:
        for line in _table(shown):
            click.echo(line)


def _table(values: Sequence[SettingValue]) -> Iterator[str]:
    width = max((len(value.name) for value in values), default=0)
    for value in values:
        yield f"{value.name:<{width}} = {value.text}  ({value.source.place})"


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    begun = incomplete.lower().replace("-", "_")
    return [CompletionItem(name) for name in Settings.model_fields if name.startswith(begun)]


@config.command
@click.argument("name", required=False, shell_complete=_complete)
@json_option
@setting_options(*OPTIONS)
def explain(server: ChosenServer, name: str | None, as_json: bool) -> None:
    """Explain a setting, or all: its meaning, its value, all places that set it, and the place that counts."""
    values = _values(server)
    if name is None:
        asked = list(values.values())
    elif (known := name.lower().removeprefix("troupe_").replace("-", "_")) in values:
        asked = [values[known]]
    else:
        raise WrongValue(f"{name} names no setting{nearest(name)}")
    if as_json:
        print_json([value.as_json() for value in asked] if name is None else asked[0].as_json())
    else:
        click.echo("\n\n".join("\n".join(value.explanation()) for value in asked))


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting: its value as an operator writes it, the source that counts, and the overridden sources."""

    name: str
    text: str
    source: Source
    overridden: Sequence[Source]

    def as_json(self) -> JsonObject:
        return {
            "name": self.name,
            "value": self.text,
            "source": self.source.kind,
            "place": self.source.place,
            "overridden": [
                {"value": _shown(self.name, source), "source": source.kind, "place": source.place}
                for source in self.overridden
            ],
            "default": default(self.name),
            "secret": self.name in SECRETS,
            "variable": variable(self.name),
            "right": example_of(self.name),
            "meaning": meaning(self.name),
        }

    def explanation(self) -> Iterator[str]:
        """Return the lines that explain this setting."""
        yield f"{self.name} = {self.text}"
        yield from textwrap.wrap(meaning(self.name), WIDTH, initial_indent="  ", subsequent_indent="  ")
        yield f"  From: {self.source.place}."
        for source in self.overridden:
            yield f"  Not used: {_shown(self.name, source)} ({source.place})."
        usual = default(self.name)
        yield f"  Default: {usual}." if usual else "  Default: none."
        yield f"  Right is: {example_of(self.name)}."
        yield f"  Set by: {', '.join(_ways(self.name))}."


def _shown(name: str, source: Source) -> str:
    return MASK if name in SECRETS else written(source.value)


def _ways(name: str) -> Iterator[str]:
    yield variable(name)
    if name in SECRETS:
        yield f"{variable(name)}_FILE"
    yield f"{name} in the settings file"


def _values(server: ChosenServer) -> Mapping[str, SettingValue]:
    """Return all settings by their names."""
    changed, why_not = _changed(server)
    if why_not:
        click.echo(f"Changes that were made while the server ran are missing here: {why_not}", err=True)
    return {name: _value(name, server.sources, changed.get(name)) for name in Settings.model_fields}


def _changed(server: ChosenServer) -> tuple[Mapping[str, str], str]:
    """Return the settings that staff has changed, from the database; and why they are not known, if they are not."""
    from ...storage.engine.cluster import EmbeddedFailed
    from ...storage.engine.embedded import exists
    from ...storage.engine.migrate import MigrationRefused
    from ..failures import text_of

    settings = server.settings
    if not settings.database_url and not exists(settings.data):
        return {}, ""  # no server has run here yet
    try:
        return server.transact(_find), ""
    except (StorageError, EmbeddedFailed, MigrationRefused, OSError) as error:
        return {}, text_of(error)


async def _find(db: Connection, here: Here) -> Mapping[str, str]:
    from ...storage import changed_settings

    return await changed_settings.find_all(db)


def _value(name: str, sources: SettingsSources, changed: str | None) -> SettingValue:
    value = getattr(sources.settings, name)
    found = [*reversed(sources.of(name)), Source("default", "default", default(name))]
    if changed is not None:
        found.insert(0, Source("changed", f"changed while running (`troupe settings history {name}`)", changed))
        return SettingValue(name, changed, found[0], found[1:-1])
    return SettingValue(name, written(value), found[0], found[1:-1])
