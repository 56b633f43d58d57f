"""The end of an incarnation: before a reload, after a crash, when its actor goes to sleep, and when the pool stops."""

from __future__ import annotations

import trio

from .cell import Cell, Incarnation
from .descriptions import facts_of
from .errors import describe, place
from .pool_services import Record


def retire(cell: Cell, record: Record) -> None:
    """Take the incarnation out of its cell."""
    actor, cell.actor, cell.envelope = cell.actor, None, None
    if actor is not None:
        let_go(cell, actor, record)


# Protected like a turn: a Ctrl-C must not be taken for an error of the actor.
@trio.lowlevel.enable_ki_protection
def let_go(cell: Cell, actor: Incarnation, record: Record) -> None:
    """Tell an incarnation that it has ended. An error is logged and changes nothing."""
    try:
        actor.retired()
    except BaseException as error:
        record(
            "actor.crashed", **facts_of(cell, None), error=describe(error), place=place(error),
            decision="the actor is put to sleep all the same",
        )  # fmt: skip
