"""`troupe doctor`: present and coming faults of the server and its machine."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ..log.console import shows_colours
from ..settings.sources import SettingsSources
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options
from .refusals import CommandRefused
from .running_server import ask_node
from .terminal import columns

if TYPE_CHECKING:
    from ..doctor.findings import Examination, Finding, State

WIDTH = 100
SUBJECT_WIDTH = 13
MARKS: dict[State, tuple[str, str]] = {"good": ("✓", "green"), "note": ("·", "yellow"), "wrong": ("✗", "red")}


@click.command
@click.option("--online", is_flag=True, help="Ask the server's own domain over the network.")
@click.option("--mail", metavar="ADDRESS", help="Send a mail to this address. Without it, no mail is sent.")
@json_option
@setting_options("data", "node")
def doctor(server: ChosenServer, online: bool, mail: str | None, as_json: bool) -> None:
    """Look for faults that stop the server or will stop it, and say how to cure them.

    It checks the stalls of the running server, the database and its settings, disks, the clock, file descriptors,
    the sandbox of media processes, the domain and the proxy in front, WebSockets through it, the mail server, the
    bucket for media, keys, and permissions.
    It changes nothing; in the bucket it writes a small object and deletes it.
    It also asks a running server. If none runs, it starts the embedded PostgreSQL for a moment.

    Run it as the server's user, with the server's settings: `sudo -u troupe troupe doctor --config /etc/troupe.toml`.
    """
    from ..doctor.checks import examine

    found: list[Finding] = []
    with ExitStack() as stack:
        for finding in examine(_examination(stack, server.sources, online, mail)):
            found.append(finding)
            if not as_json:
                click.echo("\n".join(_lines(finding)))
    wrong = sum(finding.state == "wrong" for finding in found)
    if as_json:
        print_json([finding.as_json() for finding in found])
    else:
        click.echo(
            f"\n{wrong or 'Nothing'} of {number_of(len(found), 'findings')} {'are' if wrong > 1 else 'is'} wrong."
        )
    if wrong:
        raise SystemExit(1)


def _examination(stack: ExitStack, sources: SettingsSources, online: bool, mail: str | None) -> Examination:
    from ...storage.engine.cluster import EmbeddedFailed
    from ...storage.engine.embedded import exists
    from ..doctor.findings import Examination
    from ..failures import text_of
    from .rows import opened_database

    settings = sources.settings
    dsn, why_not = None, ""
    if not settings.database_url and not exists(settings.data):
        why_not = f"there is none in {settings.data}"
    else:
        try:
            dsn = stack.enter_context(opened_database(settings))
        except (EmbeddedFailed, OSError) as error:
            why_not = text_of(error)
    server, no_server = None, ""
    try:
        server = ask_node(settings, "doctor")
    except CommandRefused as refused:
        no_server = refused.message
    # It may have been started with other options.
    place = (server or {}).get("place", {})  # a server of an earlier version does not say
    sources = replace(sources, settings=settings.model_copy(update=place))
    return Examination(sources, dsn, why_not, server, no_server, online, mail)


def _lines(finding: Finding) -> Iterator[str]:
    mark, colour = MARKS[finding.state]
    if sys.stdout.isatty() and shows_colours(os.environ):
        mark = click.style(mark, fg=colour, bold=True)
    indent = " " * (SUBJECT_WIDTH + 2)
    width = min(columns() or WIDTH, WIDTH)
    text = textwrap.wrap(finding.text, width - len(indent), break_long_words=False, break_on_hyphens=False)
    yield f"{mark} {finding.subject:<{SUBJECT_WIDTH}}{text[0]}"
    yield from (indent + line for line in text[1:])
    if finding.cure:
        yield from textwrap.wrap(
            finding.cure, width, initial_indent=f"{indent}→ ", subsequent_indent=f"{indent}  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
