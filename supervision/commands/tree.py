"""`troupe tree`: the supervision tree of the running server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import click

from ...storage.engine.json_values import JsonObject
from ..configuration import Settings
from ..control import short_name
from .options import CommandRefused, setting_options, settings_from

PATIENCE = 5.0


@click.command
@setting_options("data", "node")
@click.option("--json", "as_json", is_flag=True, help="The server's own answer, for programs.")
def tree(data: str | None, node: str | None, config: Path | None, as_json: bool) -> None:
    """Show the supervision tree of the running server.

    If no server runs on this data folder, the tree is shown as it would be started, and the exit code is 1.
    """
    settings = settings_from(config, data=data, node=node)
    running = ask(settings.control_socket, "tree")
    if running is None:
        click.echo(f"{_missing(settings)} This is what would be started:", err=True)
    answer = running or _declared()
    click.echo(json.dumps(answer) if as_json else "\n".join(drawn(answer)))
    if running is None:
        raise SystemExit(CommandRefused.exit_code)


def _missing(settings: Settings) -> str:
    """Return that no server runs on the data folder, or that only servers with another `node` do."""
    sockets = settings.data.glob("control-*.sock")  # a server that was killed has left its own
    others = sorted(path.stem.removeprefix("control-") for path in sockets if ask(path, "tree") is not None)
    if not others:
        return "No server runs on this data folder."
    return f"No server runs as node {settings.node}; choose another one with --node: {', '.join(others)}."


def ask(path: Path, command: str) -> JsonObject | None:
    """Ask the running server one question. Return None if there is none."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            with short_name(path) as name:
                connection.connect(name)
            connection.sendall(json.dumps({"command": command}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                return json.loads(lines.readline())
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        return None
    except (OSError, ValueError) as error:
        why = "it does not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        raise CommandRefused(f"The server on this data folder can't be asked ({path}): {why}.") from error


def drawn(node: Mapping[str, object], indent: str = "") -> Iterator[str]:
    """Return a node and the nodes under it, a line each."""
    facts = (f"{name}={value}" for name, value in node.items() if name not in ("name", "children"))
    yield "  ".join([indent + str(node["name"]), *facts])
    # The children of a node are nodes: this is the server's own answer.
    for child in cast("Sequence[Mapping[str, object]]", node.get("children", ())):
        yield from drawn(child, indent + "  ")


def _declared() -> JsonObject:
    from ..tree import declared

    return declared()
