"""Options that name settings, and the output and questions of commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ..settings.sources import default, meaning
from .chosen_server import ChosenServer
from .refusals import CommandRefused, WrongValue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

R = TypeVar("R")
Command = TypeVar("Command", bound=Callable[..., object])


def setting_options(*names: str) -> Callable[[Callable[Concatenate[ChosenServer, ...], R]], Callable[..., R]]:
    """Return options for these settings, and `--config`. The command's first argument is the server that they choose.

    Values arrive as strings; the schema checks them.
    """

    def decorate(command: Callable[Concatenate[ChosenServer, ...], R]) -> Callable[..., R]:
        @wraps(command)
        def on_chosen_server(config: Path | None, **values: Any) -> R:  # values of any type: each option has its own
            chosen = {name: values.pop(name) for name in names}
            return command(ChosenServer(config, chosen), **values)

        for name in reversed(names):
            on_chosen_server = _option(name)(on_chosen_server)
        return _config(on_chosen_server)

    return decorate


_config = click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file with settings. [TROUPE_CONFIG; default: troupe.toml, if it exists]",
)


def _option(name: str) -> Callable[[Command], Command]:
    flag = "--" + name.replace("_", "-")
    usual = f"; default: {default(name)}" if default(name) else ""
    text = f"{meaning(name)} [TROUPE_{name.upper()}{usual}]"
    if default(name) in ("true", "false"):
        return click.option(flag, name, is_flag=True, default=None, help=text)
    return click.option(flag, name, metavar=name.upper(), help=text)


def _complete_account(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from .completion import complete_account

    return complete_account(ctx, incomplete)


account_argument = click.argument("name", shell_complete=_complete_account)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")


def print_list(found: Sequence[JsonObject], line: Callable[[JsonObject], str], *, as_json: bool) -> None:
    """Print the rows of a list: as a JSON document, or a `line` for each row."""
    if as_json:
        print_json(found)
    else:
        for row in found:
            click.echo(line(row))


def print_json(found: object) -> None:
    """Print one JSON document, which is UTF-8 in every locale (RFC 8259)."""
    click.echo(json.dumps(found, indent=2, ensure_ascii=False).encode())


def written_size(size: int) -> str:
    """Return a number of bytes for people."""
    for unit, bytes_of_it in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.1f} {unit}"
    return number_of(size, "bytes")


def read_secret(question: str, *, twice: bool = False) -> str:
    """Return a secret from standard input: a line of a file or a pipe, or hidden input in a terminal."""
    if sys.stdin.isatty():
        answer: str = click.prompt(question, hide_input=True, confirmation_prompt=twice, err=True)
    else:
        answer = sys.stdin.readline()
    if not answer.strip():
        raise WrongValue("Standard input is empty.")
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
