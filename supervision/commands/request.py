"""`troupe request`: what one request led to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

from ...storage.engine.json_values import JsonObject
from .actor import seconds
from .asking import ask
from .options import CommandRefused, json_option, print_json, setting_options, settings_from
from .terminal import fitted

CONTINUED = 28  # columns before the rest of a long line: behind the two times


@click.command
@json_option
@click.argument("id")
@click.option(
    "--log", type=click.File("r", encoding="utf-8", errors="replace"),
    help="Also look into a file with the log; `-` reads it from standard input.",
)  # fmt: skip
@setting_options("data", "node")
def request(
    as_json: bool, id: str, log: TextIO | None, data: str | None, node: str | None, config: Path | None
) -> None:
    """Follow one request through all that it led to: turns, transactions, effects, pushes and deliveries.

    ID is what the answer had as X-Request-Id; records of the log have it as request_id. The server remembers its last
    16,000 steps. The log has what went wrong, for as long as it is kept.
    """
    from .request_log import records_of

    answer = ask(settings_from(config, data=data, node=node).control_socket, "request", id=id)
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


def _line(record: JsonObject) -> str:
    facts = (f"{name}={value}" for name, value in record.items() if name not in ("time", "event", "level", "line"))
    return str(record["line"]) if "line" in record else "  ".join([str(record["time"]), str(record["event"]), *facts])
