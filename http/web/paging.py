"""Pages of a list of statuses, and the links to newer and older pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage.upkeep.paging import Page
from ..intake.parameters import Cursor, Input, LowerCursor

POSTS = 20  # on a page


class ListPosition(Input):
    """The beginning of a page in a list."""

    max_id: Cursor = None
    min_id: LowerCursor = None

    @property
    def is_first(self) -> bool:
        """True for the page with the newest statuses."""
        return self.max_id is None and self.min_id is None

    def page(self) -> Page:
        return Page(POSTS, self.max_id, None, self.min_id)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The links from a page of statuses to the newer and the older page; None without such a page."""

    newer: str | None
    older: str | None


def neighbours(path: str, position: ListPosition, ids: Sequence[int]) -> Neighbours:
    """Return the links around a page with these ids. A page beyond the end leads back to the newest statuses.

    `path` is percent-encoded.
    """
    if not ids:
        return Neighbours(None if position.is_first else path, None)
    older = len(ids) == POSTS or position.min_id is not None
    return Neighbours(
        None if position.is_first else f"{path}?min_id={max(ids)}",
        f"{path}?max_id={min(ids)}" if older else None,
    )
