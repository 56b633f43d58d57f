"""The work after a turn or a load for the subscribers of its actor."""

from __future__ import annotations

from .cell import Cell
from .crowded_cells import CrowdedCells
from .errors import describe
from .feed import Feed
from .pool_services import Record


def wake_subscribers(cell: Cell, feed: Feed, crowd: CrowdedCells, record: Record) -> None:
    """Have the subscribers of a cell read its new events. Log the subscribers that were cut, note a crowded cell."""
    for error in feed.catch_up():
        record("stream.cut", actor=str(cell.address), error=describe(error) if error else "too slow", decision="cut")
    if feed.is_crowded:
        crowd.note(cell)
