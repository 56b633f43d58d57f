"""Control messages: the runtime itself sends them to actors. They go before all other mail and have no turns."""

from __future__ import annotations

from dataclasses import dataclass

from .cell import Cell, Incarnation
from .feed import Subscriber
from .message import Control


@dataclass(frozen=True, slots=True)
class Subscribe(Control[None]):
    """Join the feed."""

    subscriber: Subscriber


def answer_control(cell: Cell, message: object) -> None:
    """Do what a control message says. Raises what the actor raises."""
    if isinstance(message, Subscribe) and cell.actor is not None:
        _subscribe(cell, cell.actor, message.subscriber)


def _subscribe(cell: Cell, actor: Incarnation, subscriber: Subscriber) -> None:
    cell.feed.subscribe(subscriber)
    try:
        actor.subscribed(subscriber)
    except BaseException:
        cell.feed.unsubscribe(subscriber)
        raise
