"""The indexes of awake timelines by the authors, and by the hashtags, that they show.

Only awake timelines get messages about new statuses; a sleeping timeline reads its rows when it wakes. A timeline
registers for its authors and hashtags before it reads its entries, so that no commit falls between the two. Homes of
accounts that follow no hashtag are not in the index of hashtags.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from typing import Generic, TypeVar

from ..kernel import Cell

Key = TypeVar("Key", bound=Hashable)


class Audience(Generic[Key]):
    """Awake timelines by the id of an author, or by the name of a hashtag.

    Dicts serve as sets that keep their order, so that a simulated run replays.
    """

    def __init__(self) -> None:
        self._cells: dict[Key, dict[Cell, None]] = {}

    def join(self, cell: Cell, keys: Iterable[Key]) -> None:
        for key in keys:
            self._cells.setdefault(key, {})[cell] = None

    def leave(self, cell: Cell, keys: Iterable[Key]) -> None:
        for key in keys:
            cells = self._cells.get(key)
            if cells is not None:
                cells.pop(cell, None)
                if not cells:
                    del self._cells[key]

    @property
    def all_cells(self) -> list[Cell]:
        """Return all cells that are registered, each once."""
        return list(dict.fromkeys(cell for cells in self._cells.values() for cell in cells))

    def cells(self, key: Key) -> Container[Cell]:
        """Return the cells that are registered for a key, for membership tests without a copy."""
        return self._cells.get(key, ())

    def of(self, key: Key) -> list[Cell]:
        return list(self._cells.get(key, ()))
