"""`troupe request`: the steps of a request, from the memory of the running server and from a file of its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

import click

from ...storage.engine.json_values import JsonObject
from .actor import seconds
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options
from .refusals import CommandRefused
from .running_server import ask_node
from .terminal import fitted

# In the form of the log for people.
NAMED = re.compile(r"\brequest_ids?=(\S+)")
CONTINUED = 28  # columns before the rest of a long line: behind the two times


@click.command
@json_option
@click.argument("id")
@click.option(
    "--log", type=click.File("r", encoding="utf-8", errors="replace"),
    help="Also look into a file with the log; `-` reads it from standard input.",
)  # fmt: skip
@setting_options("data", "node")
def request(server: ChosenServer, as_json: bool, id: str, log: TextIO | None) -> None:
    """Follow a request through all its steps: turns, transactions, effects, pushes and deliveries.

    ID is the X-Request-Id of the answer; records of the log have it as request_id. The server remembers its last 16,000
    steps. The log has the errors, for as long as it is kept.
    """
    answer = ask_node(server.settings, "request", id=id)
    records = list(records_of(log, id)) if log is not None else []
    steps: list[JsonObject] = answer["steps"] if answer is not None else []
    if as_json:
        print_json({"request_id": id, "steps": steps, "log": records})
    elif steps or records:
        for line in [*drawn(steps), *(_line(record) for record in records)]:
            click.echo(fitted(line, CONTINUED))
    if log is not None and not records and steps:
        click.echo(f"{log.name} has no record of this request.", err=True)
    if not steps and not records:
        running = "It is not among the last steps of the server" if answer is not None else "No server runs"
        raise CommandRefused(f"{running}; {'the log does not have it' if log else 'look into its log with --log'}.")


def drawn(steps: Sequence[JsonObject]) -> Iterator[str]:
    """Return the tree in lines. Times are counted from the first step."""
    if steps:
        yield f"{seconds(steps[0]['ago'])} ago"
        yield from _drawn(steps, steps[0]["ago"], "")


def _drawn(steps: Sequence[JsonObject], since: float, indent: str) -> Iterator[str]:
    for step in steps:
        number = "" if step["message_id"] is None or step["what"] == "transaction" else f"#{step['message_id']}"
        outcome = f"  {step['outcome']}" if step["outcome"] else ""
        name = f"{step['where']} {step['name']}" if step["what"] == "request" else f"{step['name']}{number}"
        place = "" if step["what"] in ("request", "transaction") else f" at {step['where']}"
        at, took = 1000 * (since - step["ago"]), 1000 * step["seconds"]
        yield f"{at:>9.1f} ms {took:>9.1f} ms  {indent}{step['what']} {name}{place}{outcome}"
        yield from _drawn(step["steps"], since, indent + "  ")


def records_of(lines: Iterable[str], request_id: str) -> Iterator[JsonObject]:
    """Yield the records that name a request. A record in the form for people is `{"line": …}`.

    A record that stands for several names their requests together. Other programs may have written before the JSON of a
    line, as the journal does.
    """
    for line in lines:
        if request_id not in line:
            continue
        record = _read(line)
        if record is None:
            if any(request_id in found[1].split("→") for found in NAMED.finditer(line)):
                yield {"line": line.rstrip("\n")}
        elif request_id == record.get("request_id") or request_id in record.get("request_ids", ()):
            yield record


def _read(line: str) -> JsonObject | None:
    start = line.find("{")
    if start < 0:
        return None
    try:
        record: JsonObject = json.loads(line[start:])
    except ValueError:
        return None
    return record if "event" in record else None


def _line(record: JsonObject) -> str:
    facts = (f"{name}={value}" for name, value in record.items() if name not in ("time", "event", "level", "line"))
    return str(record["line"]) if "line" in record else "  ".join([str(record["time"]), str(record["event"]), *facts])
