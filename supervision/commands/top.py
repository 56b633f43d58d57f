"""`troupe top`: what the actors of the running server do, refreshing."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from .asking import ask_server
from .options import json_option, print_json, setting_options, settings_from

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

WIDTH = 160  # without a terminal
ORDERS = ("depth", "oldest", "turn", "restarts")

# The columns of the two tables: a heading and the name of the number. Times end in `s`.
KINDS = (
    ("kind", "kind"), ("awake", "awake"), ("known", "known"), ("turns", "working"), ("mail", "depth"),
    ("oldest s", "oldest"), ("turn s", "turn"), ("restarts", "restarts"), ("resting", "resting"),
    ("quar.", "quarantined"), ("streams", "subscribers"),
)  # fmt: skip
ACTORS = (
    ("actor", "address"), ("phase", "phase"), ("mail", "depth"), ("oldest s", "oldest"), ("turn", "message"),
    ("turn s", "turn"), ("restarts", "restarts"), ("streams", "subscribers"),
)  # fmt: skip


@click.command
@json_option
@click.option("--sort", type=click.Choice(ORDERS), default="depth", show_default=True, help="The order of the actors.")
@click.option("--kind", metavar="KIND", help="Only actors of this kind, such as `home`.")
@click.option("--depth", type=click.IntRange(0), default=0, help="Only actors with so many messages that wait.")
@click.option("--oldest", type=click.FloatRange(0), default=0, help="Only those whose oldest message is so old (s).")
@click.option("--turn", type=click.FloatRange(0), default=0, help="Only those whose turn takes so long (s).")
@click.option("--restarts", type=click.IntRange(0), default=0, help="Only those that were restarted so often.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most actors.")
@click.option("--once", is_flag=True, help="Print it once. Without a terminal this is so anyway.")
@click.option(
    "--interval", type=click.FloatRange(0.5), default=2.0, show_default=True, help="Seconds between refreshes."
)
@setting_options("data", "node")
def top(
    as_json: bool,
    once: bool,
    interval: float,
    data: str | None,
    node: str | None,
    config: Path | None,
    **chosen: object,
) -> None:
    """Show what the actors do: how much mail waits, how long turns take, what was restarted. Ctrl-C ends it.

    It works while an actor is wedged: `troupe actor show ADDRESS` has its stack, `troupe actor release ADDRESS` ends
    its turn.
    """
    settings = settings_from(config, data=data, node=node)

    def answer() -> JsonObject:
        return ask_server(settings, "top", **chosen)

    if as_json:
        print_json(answer())
        return
    from rich.console import Console
    from rich.live import Live

    if once or not sys.stdout.isatty():
        Console(width=None if sys.stdout.isatty() else WIDTH).print(drawn(answer()))
        return
    with Live(drawn(answer()), auto_refresh=False, screen=True) as live:
        try:
            while True:
                time.sleep(interval)
                live.update(drawn(answer()), refresh=True)
        except KeyboardInterrupt:
            return


def drawn(answer: JsonObject) -> Group:
    """Return the two tables of an answer."""
    from rich.console import Group

    return Group(_table(KINDS, answer["kinds"]), "", _table(ACTORS, answer["actors"]))


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[JsonObject]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, (heading, name) in enumerate(columns):
        is_text = number == 0 or name in ("phase", "message")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(shown(row[name])) for _, name in columns), style=_colour(row))
    return table


def shown(value: object) -> str:
    """Return a number as a table has it: nothing for zero, times with a decimal."""
    if isinstance(value, float):
        return f"{value:.1f}" if value >= 0.05 else ""
    return str(value) if value else ""


def _colour(row: JsonObject) -> str | None:
    """Return red for what is in quarantine or wedged, yellow for what waits long."""
    if row.get("phase") == "quarantined" or row.get("quarantined") or row["turn"] > 10:
        return "red"
    return "yellow" if row["turn"] > 1 or row["oldest"] > 1 else None
