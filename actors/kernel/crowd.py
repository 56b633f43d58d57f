"""The back pressure of a pool: which of its actors have so much to do that those who tell many should wait.

An actor is crowded when its mailbox is half full, or when subscribers that could read at once are far behind in its
feed. Clients that do not read crowd nobody, and neither do actors that rest after a crash: waiting would not help them.
"""

from __future__ import annotations

from collections.abc import Container

from .cell import Cell


class Crowd:
    """The crowded cells of a pool. A cell stays noted until a look finds that it is no longer crowded."""

    def __init__(self) -> None:
        self._cells: dict[Cell, None] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def note(self, cell: Cell) -> None:
        """Remember a cell that was found crowded."""
        self._cells[cell] = None

    def among(self, cells: Container[Cell]) -> bool:
        """True if one of these cells is crowded."""
        for cell in list(self._cells):
            if not cell.is_crowded:
                del self._cells[cell]
            elif cell in cells:
                return True
        return False
