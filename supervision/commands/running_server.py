"""Questions to the running server, over its control socket."""

from __future__ import annotations

import json
import re
import socket
from functools import cache
from pathlib import Path

import click

from ...actors.configuration import ServerSettings, Settings
from ...storage.engine.json_values import JsonObject
from ..short_names import short_name
from .refusals import CommandRefused

PATIENCE = 5.0  # seconds


def ask(path: Path, command: str, **arguments: object) -> JsonObject | None:
    """Ask the running server a question. Return None if no server runs. Raises CommandRefused for an error."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            with short_name(path) as name:
                connection.connect(name)
            connection.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                answer: JsonObject = json.loads(lines.readline())
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        return None
    except (OSError, ValueError) as error:
        why = "it does not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        raise CommandRefused(f"The server on this data folder can't be asked ({path}): {why}.") from error
    if "error" in answer:
        raise CommandRefused(str(answer["error"]))
    return answer


def ask_node(settings: ServerSettings, command: str, **arguments: object) -> JsonObject | None:
    """Ask the node of the settings, or else the first of the nodes that `processes` made of it, which is named."""
    answer = ask(settings.control_socket, command, **arguments)
    if answer is not None:
        return answer
    started = re.compile(rf"control-({re.escape(settings.node)}-(\d+))\.sock")
    sockets = [(path, started.fullmatch(path.name)) for path in settings.data.glob("control-*.sock")]
    for _, node, path in sorted((int(found[2]), found[1], path) for path, found in sockets if found):
        if (answer := ask(path, command, **arguments)) is not None:
            _name(node)
            return answer
    return None


@cache
def _name(node: str) -> None:
    click.echo(f"Node {node} answers; --node chooses another one.", err=True)


def ask_server(settings: Settings, command: str, **arguments: object) -> JsonObject:
    """Ask the running server a question. Raises CommandRefused if no server runs, and for an error."""
    answer = ask_node(settings, command, **arguments)
    if answer is None:
        raise CommandRefused(missing(settings))
    return answer


def missing(settings: ServerSettings) -> str:
    """Return that no server runs on the data folder, or that only servers with another `node` do."""
    sockets = settings.data.glob("control-*.sock")  # a server that was killed has left its own
    others = sorted(path.stem.removeprefix("control-") for path in sockets if ask(path, "tree") is not None)
    if not others:
        return "No server runs on this data folder."
    return f"No server runs as node {settings.node}; choose another node with --node: {', '.join(others)}."
