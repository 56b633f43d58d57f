"""`troupe top`: the activity of the actors of the running server, refreshing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from .actor import seconds
from .chosen_server import ChosenServer
from .keyboard import keyboard
from .options import json_option, print_json, setting_options
from .running_server import ask_server

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

ORDERS = ("depth", "oldest", "turn", "restarts")
KEYS = {"d": "depth", "o": "oldest", "t": "turn", "r": "restarts"}
HELP = "d o t r: order   k: kind   q: end"
WIDTH = 100  # columns at most: numbers that stand far apart are hard to read
WIDE = 92  # columns from which there are two spaces between them

# The columns of the two tables: a heading and the name of the value.
KINDS = (
    ("kind", "kind"), ("awake", "awake"), ("known", "known"), ("turns", "working"), ("mail", "depth"),
    ("oldest", "oldest"), ("turn", "turn"), ("restarts", "restarts"), ("resting", "resting"),
    ("quar.", "quarantined"), ("streams", "subscribers"),
)  # fmt: skip
ACTORS = (
    ("actor", "address"), ("doing", "message"), ("for", "turn"), ("mail", "depth"), ("oldest", "oldest"),
    ("restarts", "restarts"), ("streams", "subscribers"),
)  # fmt: skip


@click.command
@json_option
@click.option("--sort", type=click.Choice(ORDERS), default="depth", show_default=True, help="The order of the actors.")
@click.option("--kind", metavar="KIND", help="Only actors of this kind, such as `home`.")
@click.option("--depth", type=click.IntRange(0), default=0, help="Only actors with so many messages that wait.")
@click.option("--oldest", type=click.FloatRange(0), default=0, help="Only actors whose oldest message is so old (s).")
@click.option("--turn", type=click.FloatRange(0), default=0, help="Only actors whose turn takes so long (s).")
@click.option("--restarts", type=click.IntRange(0), default=0, help="Only actors that were restarted so often.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="The most actors.")
@click.option("--once", is_flag=True, help="Print it once. Without a terminal this is so anyway.")
@click.option(
    "--interval", type=click.FloatRange(0.5), default=2.0, show_default=True, help="Seconds between refreshes."
)
@setting_options("data", "node")
def top(server: ChosenServer, as_json: bool, once: bool, interval: float, **chosen: object) -> None:
    """Show the activity of actors: waiting messages, lengths of turns, restarts.

    It is refreshed until Ctrl-C or `q`. The keys `d`, `o`, `t` and `r` sort the actors by mail, oldest message, turn
    and restarts; `k` shows the actors of the next kind alone.

    It works while an actor is wedged: `troupe actor show ADDRESS` has its stack, `troupe actor release ADDRESS` ends
    its turn.
    """
    settings = server.settings

    def answer() -> JsonObject:
        return ask_server(settings, "top", **chosen)

    if as_json:
        print_json(answer())
    elif once or not sys.stdout.isatty():
        from rich.console import Console

        console = Console(width=None if sys.stdout.isatty() else WIDTH)
        console.print(drawn(answer(), console.width))
    else:
        _refreshing(settings.node, answer, chosen, interval)


def _refreshing(node: str, answer: Callable[[], JsonObject], chosen: dict[str, object], interval: float) -> None:
    """Show answers on the whole screen until the operator ends it. Keys change what is `chosen`."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    console = Console()

    def screen(found: JsonObject) -> Group:
        title = f"troupe top, node {node}   order: {chosen['sort']}   kind: {chosen['kind'] or 'all'}"
        return Group(Text(title, "bold"), Text(HELP, "dim"), "", drawn(found, console.width))

    found = answer()
    with (
        keyboard() as key,
        Live(screen(found), console=console, auto_refresh=False, screen=True) as live,
        suppress(KeyboardInterrupt),
    ):
        while (pressed := key(interval, lambda: console.size)) != "q":
            if pressed in KEYS:
                chosen["sort"] = KEYS[pressed]
            elif pressed == "k":
                chosen["kind"] = _next([kind["kind"] for kind in found["kinds"]], chosen["kind"])
            found = answer()
            live.update(screen(found), refresh=True)


def _next(kinds: Sequence[str], kind: object) -> str | None:
    """Return the next kind. None, for all kinds, is before the first and after the last."""
    every: list[object] = [None, *kinds]
    after = every[(every.index(kind) + 1) % len(every)] if kind in every else None
    return str(after) if after is not None else None


def drawn(answer: JsonObject, width: int) -> Group:
    """Return the two tables of an answer."""
    from rich.console import Group

    actors = [{**actor, "message": actor["message"] or _state(actor)} for actor in answer["actors"]]
    return Group(_table(KINDS, answer["kinds"], width), "", _table(ACTORS, actors, width))


def _state(actor: JsonObject) -> str:
    """Return the state of an actor without a turn; empty if it is ready for a turn."""
    return "" if actor["phase"] == "ready" else str(actor["phase"])


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[JsonObject], width: int) -> Table:
    from rich.markup import escape
    from rich.table import Table

    taken = min(width, WIDTH)
    table = Table(
        box=None, pad_edge=False, padding=(0, 2 if taken >= WIDE else 1, 0, 0), header_style="bold", width=taken
    )
    for heading, name in columns:
        # The activity of an actor takes the remaining columns, so that no address and no number is cut.
        is_text, is_last_to_fit = name in ("kind", "address", "message"), name in ("kind", "message")
        justify = "left" if is_text else "right"
        table.add_column(heading, justify=justify, no_wrap=True, ratio=1 if is_last_to_fit else None)
    for row in rows:
        table.add_row(*(escape(shown(row[name])) for _, name in columns), style=_colour(row))
    return table


def shown(value: object) -> str:
    """Return a value as a table has it: nothing for zero, times with their unit."""
    if isinstance(value, float):
        return seconds(value) if value >= 0.05 else ""
    if isinstance(value, int):
        return f"{value:,}" if value else ""
    return str(value)


def _colour(row: JsonObject) -> str | None:
    """Return red for an actor in quarantine or wedged, yellow for long waits."""
    if row.get("phase") == "quarantined" or row.get("quarantined") or row["turn"] > 10:
        return "red"
    return "yellow" if row["turn"] > 1 or row["oldest"] > 1 else None
