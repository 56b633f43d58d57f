"""`troupe tree`: the supervision tree of the running server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import click

from ...actors.rules.wording import plain
from ...storage.engine.json_values import JsonObject, is_object, list_or_empty
from .chosen_server import ChosenServer
from .options import setting_options
from .refusals import CommandRefused
from .running_server import ask_node, missing
from .terminal import fitted

NAME_WIDTH = 15  # of most names, indented
STATE_WIDTH = 7


@click.command
@setting_options("data", "node")
@click.option("--json", "as_json", is_flag=True, help="The server's own answer, for programs.")
def tree(server: ChosenServer, as_json: bool) -> None:
    """Show the supervision tree of the running server.

    If no server runs on this data folder, the tree is shown as it would be started, and the exit code is 1.
    """
    settings = server.settings
    running = ask_node(settings, "tree")
    if running is None:
        click.echo(f"{missing(settings)} These parts would be started:", err=True)
    answer = running or _declared()
    click.echo(json.dumps(answer) if as_json else "\n".join(drawn(answer)))
    if running is None:
        raise SystemExit(CommandRefused.exit_code)


def drawn(node: Mapping[str, object], indent: str = "") -> Iterator[str]:
    """Return a node and the nodes under it, a line each."""
    line = f"{indent}{node['name']:<{NAME_WIDTH - len(indent)}}"
    yield fitted("  ".join([line, *_facts(node)]).rstrip(), NAME_WIDTH + 2)
    for child in list_or_empty(node.get("children")):
        if is_object(child):
            yield from drawn(child, indent + "  ")


def _facts(node: Mapping[str, object]) -> Iterator[str]:
    """Return the text after a name. Empty for the usual case: a part that was started once and has no troubles."""
    for name, value in node.items():
        if name == "state":
            yield f"{value:<{STATE_WIDTH}}"
        elif name not in ("name", "children") and value != [] and (name, value) != ("starts", 1):
            yield f"{name}={plain(value)}"


def _declared() -> JsonObject:
    from ..tree import declared

    return declared()
