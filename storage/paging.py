"""Which slice of a list, newest first, a reader asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from .engine.database import Connection

#: Above every id there is: an absent `max_id`.
NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Slice:
    """Ids strictly between two bounds; bounds are always given, so that a plan can always use them."""

    below: int
    above: int
    oldest_first: bool


def slice_of(max_id: int | None, since_id: int | None, min_id: int | None) -> Slice:
    """`since_id` keeps the newest rows above an id, `min_id` the ones directly above it."""
    return Slice(
        below=NO_LIMIT if max_id is None else max_id,
        above=max(since_id or 0, min_id or 0),
        oldest_first=min_id is not None,
    )


def both_ways(sql: str) -> tuple[str, str]:
    """A page query, which says `{order}`, newest first and oldest first: pick with `Slice.oldest_first`."""
    return sql.replace("{order}", "DESC"), sql.replace("{order}", "ASC")


async def page_of(
    db: Connection, query: tuple[str, str], *key: object, max_id: int | None, since_id: int | None,
    min_id: int | None, limit: int, then: Sequence[object] = (),
) -> list[tuple[int, int]]:  # fmt: skip
    """A page of (paging id, what is listed), newest first. `query` takes key, both bounds, limit, and `then`."""
    slice = slice_of(max_id, since_id, min_id)
    rows = await db.fetch(query[slice.oldest_first], *key, slice.below, slice.above, limit, *then)
    return sorted((tuple(row.values()) for row in rows), reverse=True)
