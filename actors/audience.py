"""The index of awake timelines by the authors that they show.

Only awake timelines are told of a new status; a sleeping one reads it from rows when it wakes. A timeline registers for
its authors before it reads its entries, so no commit falls between the two.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from .kernel import Cell


class Audience:
    """Awake homes by author. Dicts serve as sets that keep their order, so that a simulated run replays."""

    def __init__(self) -> None:
        self._homes: dict[int, dict[Cell, None]] = {}

    def join(self, home: Cell, authors: Iterable[int]) -> None:
        for author in authors:
            self._homes.setdefault(author, {})[home] = None

    def leave(self, home: Cell, authors: Iterable[int]) -> None:
        for author in authors:
            homes = self._homes.get(author)
            if homes is not None:
                homes.pop(home, None)
                if not homes:
                    del self._homes[author]

    @property
    def everybody(self) -> list[Cell]:
        """Return all cells that are registered for any author."""
        return list(dict.fromkeys(home for homes in self._homes.values() for home in homes))

    def cells(self, author: int) -> Container[Cell]:
        """Return the cells that are told of an author, as a set to look one up."""
        return self._homes.get(author, ())

    def of(self, author: int) -> list[Cell]:
        return list(self._homes.get(author, ()))
