"""The back pressure of a pool: which of its actors have so much to do that senders of many messages should wait.

An actor is crowded when its mailbox is half full, or when subscribers that could read at once are far behind in its
feed. Subscribers whose clients do not read are not counted. Actors that wait after a crash are not crowded: waiting
would not help them.
"""

from __future__ import annotations

from collections.abc import Container

from .cell import Cell


class CrowdedCells:
    """The crowded cells of a pool. A cell stays in the set until a check finds that it is no longer crowded."""

    def __init__(self) -> None:
        self._cells: dict[Cell, None] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def note(self, cell: Cell) -> None:
        """Remember a crowded cell."""
        self._cells[cell] = None

    def among(self, cells: Container[Cell]) -> bool:
        """True if one of these cells is crowded."""
        for cell in list(self._cells):
            if not cell.is_crowded:
                del self._cells[cell]
            elif cell in cells:
                return True
        return False
