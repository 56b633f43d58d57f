"""Options that name settings, and the refusals that commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from ...storage.engine.json_values import JsonObject
from ..configuration import Settings
from ..sources import ConfigurationError, default, meaning, read_settings

Command = TypeVar("Command", bound=Callable[..., object])


class CommandRefused(click.ClickException):
    """Raised when the command can't be done. Nothing was changed."""

    exit_code = 1


class WrongOption(click.ClickException):
    """Raised for a setting with a wrong value."""

    exit_code = 2


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Return options for these settings, and `--config`. Values arrive as strings; the schema checks them."""

    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = _option(name)(command)
        return _config(command)

    return decorate


def settings_from(config: Path | None, **chosen: object) -> Settings:
    """Return the settings. Those chosen on the command line come before all others."""
    try:
        return read_settings(chosen, os.environ, config)
    except ConfigurationError as error:
        raise WrongOption(str(error)) from None


_config = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file with settings. [TROUPE_CONFIG; default: troupe.toml, if there is one]",
)


def _option(name: str) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    usual = f"; default: {default(name)}" if default(name) else ""
    text = f"{meaning(name)} [TROUPE_{name.upper()}{usual}]"
    if default(name) in ("true", "false"):
        return click.option(flag, name, is_flag=True, default=None, help=text)
    return click.option(flag, name, metavar=name.upper(), help=text)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def print_list(found: Sequence[JsonObject], line: Callable[[JsonObject], str], *, as_json: bool) -> None:
    """Print what a command lists: as one JSON document, or one `line` for each."""
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for one in found:
            click.echo(line(one))
