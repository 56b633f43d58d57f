"""`troupe streams`: the open streaming connections of the running server."""

from __future__ import annotations

from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .actor import seconds
from .asking import ask_server
from .options import json_option, print_json, setting_options, settings_from


@click.command
@json_option
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="The most streams.")
@setting_options("data", "node")
def streams(as_json: bool, limit: int, data: str | None, node: str | None, config: Path | None) -> None:
    """Show the open streaming connections, first those whose clients do not keep up.

    A line has the account, the streams, how long it is open, the events it is behind, how long its client blocks it.
    """
    answer = ask_server(settings_from(config, data=data, node=node), "streams", limit=limit)
    if as_json:
        print_json(answer)
        return
    click.echo(f"{answer['open']} open")
    for one in answer["streams"]:
        click.echo(_line(one))


def _line(one: JsonObject) -> str:
    who = "no account" if one["account_id"] is None else f"account/{one['account_id']}"
    blocked = seconds(one["blocked"]) if one["blocked"] else "-"
    return (
        f"{who}\t{', '.join(one['streams'])}\t{seconds(one['open'])}\t{one['behind']}\t{blocked}\t{one['request_id']}"
    )
