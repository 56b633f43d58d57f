"""Questions to the running server, over its control socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path

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


def ask_server(settings: Settings, command: str, **arguments: object) -> JsonObject:
    """Ask the running server a question. Raises CommandRefused if no server runs, and for an error."""
    answer = ask(settings.control_socket, command, **arguments)
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
