"""Options that name settings, and the refusals that commands share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ..configuration import Settings
from ..sources import ConfigurationError, SettingsSources, default, meaning, read_sources

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

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
    return sources_from(config, **chosen).settings


def sources_from(config: Path | None, **chosen: object) -> SettingsSources:
    """Return the settings with their sources. Those chosen on the command line come before all others."""
    try:
        return read_sources(chosen, os.environ, config)
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


def _complete_account(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from .completing import complete_account

    return complete_account(ctx, incomplete)


account_argument = click.argument("name", shell_complete=_complete_account)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")


def print_list(found: Sequence[JsonObject], line: Callable[[JsonObject], str], *, as_json: bool) -> None:
    """Print what a command lists: as one JSON document, or one `line` for each."""
    if as_json:
        print_json(found)
    else:
        for one in found:
            click.echo(line(one))


def print_json(found: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


def written_size(size: int) -> str:
    """Return a number of bytes for people."""
    for unit, bytes_of_it in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.1f} {unit}"
    return number_of(size, "bytes")


def read_secret(question: str, *, twice: bool = False) -> str:
    """Return a secret from standard input: a line of a file or a pipe, or what is typed unseen in a terminal."""
    if sys.stdin.isatty():
        answer: str = click.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    else:
        answer = sys.stdin.readline()
    if not answer.strip():
        raise WrongOption("Standard input is empty.")
    return answer.strip()


def ask_first(question: Callable[[], str], *, yes: bool) -> None:
    """Ask before a command destroys, unless `--yes` was given. Raises CommandRefused if the answer is not "yes".

    A script whose input is no terminal can't answer: it is refused, and the question is not made, which may need the
    database.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandRefused("Nothing was done: this needs a confirmation. Add --yes, or run it in a terminal.")
    answer: str = click.prompt(f"{question()} Type yes to go on", default="", show_default=False, err=True)
    if answer.strip().lower() != "yes":
        raise CommandRefused("Nothing was done.")
