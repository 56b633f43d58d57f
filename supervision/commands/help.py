"""`troupe help`: the operator's handbook in the terminal."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

from . import PLACES, handbook
from .refusals import WrongValue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_NAMED = 3  # subjects in a refusal


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(subject, help=handbook.title_of(subject))
        for subject in handbook.subjects()
        if subject.startswith(incomplete.lower())
    ]


@click.command
@click.argument("subject", required=False, shell_complete=_complete)
def help(subject: str | None) -> None:
    """Print the page about SUBJECT of the operator's handbook. Without SUBJECT, list the subjects.

    The help of a command is printed by the command itself, with --help.
    """
    if subject is None:
        click.echo(handbook.printed(handbook.INDEX))
        click.echo(f"The files that the pages name are in {handbook.OPERATIONS}.")
    elif (known := subject.lower().removesuffix(handbook.PAGE)) in handbook.subjects():
        click.echo(handbook.printed(known), nl=False)
    else:
        raise WrongValue(f"The handbook has no subject {subject}{_advice(known)}")


def _advice(word: str) -> str:
    """Return the end of a refusal: the command with this name, a subject that is near, or the pages with this word."""
    subjects = handbook.subjects()
    if word in PLACES:
        return f". `troupe {word} --help` explains the command."
    if near := difflib.get_close_matches(word, subjects, n=MOST_NAMED):
        return f"; did you mean {' or '.join(near)}?"
    counts = {subject: handbook.source_of(subject).lower().count(word) for subject in subjects}
    if pages := [subject for subject in sorted(subjects, key=lambda name: -counts[name]) if counts[subject]]:
        return f". These pages name it: {', '.join(pages[:MOST_NAMED])}."
    return ". `troupe help` lists the subjects."
