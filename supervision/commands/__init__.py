"""The command line, `troupe`. Each command is imported when it is called, so that the others cost no start-up time."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from ... import __version__
from .examples import epilog_of

# The collector looks at young objects when there are more than this number: of the modules that a command imports,
# which all stay, there are fewer. That is a tenth to a fifth of the CPU of a start (measured).
MOST_IMPORTED = 250_000

# The module of each command, and its name there. The order is that of the help.
PLACES = {
    "serve": "serve",
    "accounts": "accounts",
    "reports": "reports",
    "appeals": "appeals",
    "statuses": "statuses",
    "tokens": "tokens",
    "sessions": "sessions",
    "audit": "audit",
    "tags": "trends",
    "links": "trends",
    "posts": "trends",
    "emoji": "emoji",
    "media": "media",
    "announcements": "announcements",
    "rules": "rules",
    "terms": "terms",
    "domains": "domains",
    "federation": "federation",
    "email-domains": "emails",
    "emails": "emails",
    "ips": "ips",
    "invites": "invites",
    "settings": "settings",
    "config": "config",
    "backup": "backup",
    "restore": "backup",
    "db": "db",
    "doctor": "doctor",
    "migrate": "migrate",
    "nodes": "nodes",
    "tree": "tree",
    "top": "top",
    "actor": "actor",
    "request": "request",
    "streams": "streams",
    "outbox": "outbox",
    "dead-letters": "dead_letters",
    "completion": "completion",
    "help": "help",
}

EXIT_CODES = """\b
Exit codes:
  0   done
  1   not done, for the reason given; nothing is half made
  2   a wrong command, option, value or setting
  69  the database can't be reached or used
  70  the server failed, or another server took over
  130 interrupted; finished work stays, and the command says how to go on
"""


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        module = import_module(f".{PLACES[cmd_name]}", __name__)
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        _describe(command, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. For a misspelt name the error names the nearest command."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=PLACES, ctx=ctx) from None

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # as click declares it
    ) -> click.Context:
        """Read the options. Some, as `--help`, print something, which may fail too."""
        with _explained():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Generator[None]:
    """An error with a known cause becomes one line and an exit code.

    A reader that has left, as in `troupe tree | head -1`, is no error: click ends the command without a word.
    """
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except Exception as error:
        from ..failures import explained

        if failure := explained(error):
            raise failure from None
        raise


def _describe(command: click.Command, words: str) -> None:
    """Put examples and exit codes at the end of a command's help, and of that of the commands below it."""
    if isinstance(command, click.Group):
        for name, subcommand in command.commands.items():
            _describe(subcommand, f"{words} {name}")
    else:
        command.epilog = epilog_of(words)


@click.group("troupe", cls=LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="troupe")
def troupe() -> None:
    """A self-hosted, federated microblogging server.

    Every command finds the database by --data or TROUPE_DATABASE_URL and works beside a running server and without one.
    Its changes take effect there at once. `troupe help` has the operator's handbook.
    """


def main() -> None:
    """The console script. Each file that it makes can be read by its user alone."""
    os.umask(0o077)
    if isinstance(sys.stdout, TextIOWrapper):  # it may be closed
        # In a locale of few letters, all others are printed as escapes. The class is generic, the stream has no type.
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportUnknownMemberType]
    gc.set_threshold(MOST_IMPORTED)
    # Pydantic would look for plugins among all that is installed. None is ours, and it takes 30 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(troupe())
