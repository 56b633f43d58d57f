"""Control messages: the runtime itself sends them to actors. They go before all other mail and have no turns."""

from __future__ import annotations

from dataclasses import dataclass

from .cell import Cell
from .feed import Subscriber
from .message import Control
from .portraits import portrait


@dataclass(frozen=True, slots=True)
class Subscribe(Control[None]):
    """Join the feed."""

    subscriber: Subscriber


@dataclass(frozen=True, slots=True)
class Inspect(Control[dict[str, object]]):
    """Ask for an operator's portrait of the actor."""


def answer_control(cell: Cell, message: object) -> object:
    """Do what a control message says, and return its answer. Raises what the actor raises."""
    if isinstance(message, Subscribe):
        return _subscribe(cell, message.subscriber)
    return portrait(cell)


def _subscribe(cell: Cell, subscriber: Subscriber) -> None:
    if cell.actor is None:
        return
    cell.feed.subscribe(subscriber)
    try:
        cell.actor.subscribed(subscriber)
    except BaseException:
        cell.feed.unsubscribe(subscriber)
        raise
