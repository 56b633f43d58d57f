"""The highest id in use, so that ids never go backwards when the clock has."""

from .engine import Connection

HIGHEST = """
    SELECT greatest(
        (SELECT max(id) FROM accounts), (SELECT max(id) FROM statuses), (SELECT max(id) FROM notifications),
        (SELECT max(id) FROM outbox), 0
    )
"""


async def highest_id(db: Connection) -> int:
    return await db.fetchval(HIGHEST)
