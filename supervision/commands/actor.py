"""`troupe actor`: show, restart or release an actor of the running server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options
from .running_server import ask_server
from .terminal import fitted

CONTINUED = 15  # columns before the rest of a long line: where its text began
MOST_SUBSCRIBERS = 10  # that are behind


@click.group
def actor() -> None:
    """Show an actor, restart it, or end its quarantine or its turn.

    An address is a kind and a key: account/1103, home/1103, list/7, public/all, tag/tea. `troupe top` lists them.
    """


@actor.command
@json_option
@click.argument("address")
@setting_options("data", "node")
def show(server: ChosenServer, as_json: bool, address: str) -> None:
    """Show an actor: its state in numbers, its turn and its wait, its mailbox, its crashes."""
    snapshot = ask_server(server.settings, "actor", address=address)
    if as_json:
        print_json(snapshot)
    else:
        for line in drawn(snapshot):
            click.echo(fitted(line, CONTINUED))


@actor.command
@json_option
@click.argument("address")
@setting_options("data", "node")
def restart(server: ChosenServer, as_json: bool, address: str) -> None:
    """Have an actor read its rows again before its next message.

    Nothing is lost: its mail waits, and its streams stay open.
    """
    _act(server, "restart", address, as_json=as_json)


@actor.command
@json_option
@click.argument("address")
@setting_options("data", "node")
def release(server: ChosenServer, as_json: bool, address: str) -> None:
    """End the quarantine of an actor, or the turn that it is wedged in.

    The turn is cancelled, and the actor crashes and restarts from its rows. The request gets an error and may be
    tried again. A message without a request is tried once more, and then stored as a dead letter. PostgreSQL may still
    commit the transaction of the turn: check that before you repeat the request.
    """
    _act(server, "release", address, as_json=as_json)


def _act(server: ChosenServer, verb: str, address: str, *, as_json: bool) -> None:
    done = ask_server(server.settings, verb, address=address)
    if as_json:
        print_json(done)
    else:
        click.echo(done["done"])
    if not ask_server(server.settings, "log_act", action=f"{verb}_actor", address=address)["logged"]:
        click.echo("The database could not store this in the audit log.", err=True)


def drawn(snapshot: JsonObject) -> Iterator[str]:
    """Return a snapshot in lines."""
    summary: JsonObject = snapshot["summary"]
    yield f"{summary['address']}  {summary['phase']}, incarnation {snapshot['incarnation']}"
    if snapshot["holds"]:
        yield f"  holds        {snapshot['holds']}"
    yield f"  used         {seconds(snapshot['idle'])} ago"
    yield f"  subscribers  {summary['subscribers']}"
    yield from _behind(snapshot["subscribers"])
    if snapshot["release_in"]:
        yield f"  released in  {seconds(snapshot['release_in'])}"
    for crash in snapshot["crashes"]:
        why = f"{crash['error']} at {crash['place']}, request {crash['request_id']}"
        yield f"  crashed      {seconds(crash['ago'])} ago on {_message(crash)}: {why}"
    yield f"  mail         {summary['depth']}"
    for kind in snapshot["mailbox"]:
        yield f"    {kind['count']:>5}  {kind['message']}, the oldest for {seconds(kind['oldest'])}"
    for kind in snapshot["recent"]:
        failed = f", {kind['failed']} failed" if kind["failed"] else ""
        yield (
            f"  handled      {kind['count']} {kind['message']}, the latest {seconds(kind['ago'])} ago, turns of"
            f" {_short(kind['mean'])} (longest {_short(kind['longest'])}){failed}"
        )
    if snapshot["turn"]:
        yield from _turn(snapshot["turn"])


def _behind(subscribers: Sequence[JsonObject]) -> Iterator[str]:
    for subscriber in subscribers[:MOST_SUBSCRIBERS]:
        if subscriber["behind"] or subscriber["blocked"]:
            blocked = seconds(subscriber["blocked"])
            yield f"    {subscriber['behind']:>5}  events behind, its client blocks it for {blocked}"


def _message(message: JsonObject) -> str:
    return str(message["message"]) + ("" if message["message_id"] is None else f"#{message['message_id']}")


def _turn(turn: JsonObject) -> Iterator[str]:
    yield f"  turn         {_message(turn)} for {seconds(turn['seconds'])}, request {turn['request_id']}"
    for cause in turn["causes"]:
        yield f"    caused by  {cause}"
    yield f"    waits for  {turn['waits_for']}"
    yield from (f"    {line}" for line in turn["stack"].splitlines())


def _short(value: float) -> str:
    return f"{1000 * value:.1f} ms" if value < 1 else seconds(value)


def seconds(value: float) -> str:
    """Return a time as people read it."""
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"
