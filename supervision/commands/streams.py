"""`troupe streams`: the open streaming connections of the running server."""

from __future__ import annotations

import click

from ...storage.engine.json_values import JsonObject
from .actor import seconds
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options
from .running_server import ask_server

HEADINGS = ("account", "streams", "open", "behind", "blocked", "request")


@click.command
@json_option
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="The most streams.")
@setting_options("data", "node")
def streams(server: ChosenServer, as_json: bool, limit: int) -> None:
    """Show the open streaming connections, first connections whose clients do not keep up.

    A line has the account, the streams, how long it is open, the events it is behind, how long its client blocks it,
    and the request that opened it.
    """
    answer = ask_server(server.settings, "streams", limit=limit)
    if as_json:
        print_json(answer)
        return
    click.echo(f"{answer['open']} open")
    rows = [HEADINGS, *map(_cells, answer["streams"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows[:1] * bool(answer["streams"]) + rows[1:]:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _cells(stream: JsonObject) -> tuple[str, ...]:
    who = "no account" if stream["account_id"] is None else f"account/{stream['account_id']}"
    blocked = seconds(stream["blocked"]) if stream["blocked"] else "-"
    return (
        who,
        ", ".join(stream["streams"]),
        seconds(stream["open"]),
        str(stream["behind"]),
        blocked,
        stream["request_id"],
    )
