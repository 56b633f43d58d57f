"""Pages of a list that is ordered by ids, newest first."""

from dataclasses import dataclass

from ..engine.database import Connection, Row

# Above every id: the value for a missing `max_id`.
NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page:
    """The requested part of a list: ids below `max_id`, the newest above `since_id`, or the oldest above `min_id`."""

    limit: int
    max_id: int | None = None
    since_id: int | None = None
    min_id: int | None = None

    @property
    def bounds(self) -> tuple[int, int, int]:
        """The exclusive upper and lower bound of the ids, and the limit.

        Both bounds are always set, so that plans can use both.
        """
        above = max(self.since_id or 0, self.min_id or 0)
        return NO_LIMIT if self.max_id is None else self.max_id, above, self.limit

    @property
    def oldest_first(self) -> bool:
        """True if the limit keeps the lowest ids. The page is newest first in both cases."""
        return self.min_id is not None


def both_ways(sql: str) -> tuple[str, str]:
    """Return a page query with `{order}`, newest first and oldest first. `Page.oldest_first` is the index."""
    return sql.replace("{order}", "DESC"), sql.replace("{order}", "ASC")


async def page_of(
    db: Connection, query: tuple[str, str], page: Page, key: object, *then: object
) -> list[tuple[int, int]]:
    """Return a page of (paging id, item), newest first. `query` takes the key, the bounds, the limit, and `then`."""
    rows = await db.fetch(query[page.oldest_first], key, *page.bounds, *then)
    return sorted((tuple(row.values()) for row in rows), reverse=True)


async def rows_of(db: Connection, query: tuple[str, str], page: Page, *key: object) -> list[Row]:
    """Return the rows of a page, newest first. `query` takes the key, if any, the bounds and the limit."""
    rows = await db.fetch(query[page.oldest_first], *key, *page.bounds)
    return rows[::-1] if page.oldest_first else rows
