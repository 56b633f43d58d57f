"""The manual page of `troupe`, made from the help of its commands: `python -m troupe.supervision.manual > troupe.1`.

It is made when Troupe is installed, and not kept in the repository, so it can't differ from the help. The form is that
of man(7).
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

import click

from .. import __version__
from ..actors.configuration import Settings
from .commands import EXIT_CODES, handbook, troupe
from .commands.examples import EXAMPLES, EXITS, WITH_DATABASE
from .settings.sources import SECRETS, default, meaning, variable

FILES = {
    "troupe.toml": "The settings, in the working directory, unless --config or TROUPE_CONFIG names another file.",
    "data/": "The data folder, with the embedded PostgreSQL, media, and the operator's texts.",
    "data/control-NODE.sock": "The socket by which commands ask the running server. Its owner alone may connect.",
    "data/troupe.log": "The log, if log_to is `file`.",
}


def manual() -> str:
    """Return the page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield f'.TH TROUPE 1 "" "Troupe {__version__}" "User Commands"'
    yield from (".SH NAME", "troupe \\- a self\\-hosted, federated microblogging server")
    yield from (".SH SYNOPSIS", ".B troupe", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", *_paragraphs(troupe.help or ""))
    yield ".SH COMMANDS"
    for words, command in _leaves(troupe, ()):
        yield from _command(words, command)
    yield ".SH SETTINGS"
    yield _escaped(
        "From the command line where a command has the option, else from the environment, else from the file."
    )
    for name in Settings.model_fields:
        yield from _setting(name)
    yield from (".SH EXIT STATUS", ".nf", *map(_escaped, EXIT_CODES.strip().splitlines()[2:]), ".fi")
    yield from (".SH HANDBOOK", _escaped("`troupe help SUBJECT` prints these pages."))
    for subject in handbook.subjects():
        yield from (".TP", f".B {_escaped(subject)}", _escaped(handbook.title_of(subject)))
    yield ".SH FILES"
    for path, text in FILES.items():
        yield from (".TP", f".I {_escaped(path)}", _escaped(text))


def _leaves(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Yield each command that is no group, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _leaves(command, (*path, name))
        elif command is not None:
            yield " ".join((*path, name)), command


def _command(words: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"troupe {words}")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (".SS " + _escaped(f"troupe {words} {usage}"), *_paragraphs(command.help or ""))
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            yield from (".TP", f".B {_escaped(record[0])}", _escaped(record[1]))
    yield from (
        ".PP",
        "Examples:",
        ".nf",
        *(_escaped(f"    troupe {example}") for example in EXAMPLES.get(words, ())),
        ".fi",
    )
    codes = "; ".join(f"{code} {text}" for code, text in EXITS.get(words, WITH_DATABASE).items())
    yield from (".PP", _escaped(f"Exit codes: {codes}."))


def _setting(name: str) -> Iterator[str]:
    file = f", or {variable(name)}_FILE" if name in SECRETS else ""
    usual = f" Default: {default(name)}." if default(name) else ""
    yield from (".TP", f".B {_escaped(name)}", _escaped(f"{meaning(name)}{usual} ({variable(name)}{file})"))


def _paragraphs(help_text: str) -> Iterator[str]:
    """Return the lines of a help. After `\\b` the lines of a paragraph stay as they are, as in click's own form."""
    for number, paragraph in enumerate(inspect.cleandoc(help_text).split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from (".nf", *map(_escaped, paragraph[2:].splitlines()), ".fi")
        else:
            yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """Return the text for roff: no line begins a request, and signs that stand for others stand for themselves."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("~", "\\(ti").replace("^", "\\(ha")
    )
    return re.sub(r"^([.'])", r"\\&\1", text)


if __name__ == "__main__":
    sys.stdout.write(manual())
