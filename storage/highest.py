"""The highest id in use, so that ids never go backwards when the clock has."""

from .engine.database import Connection

HIGHEST = """
    SELECT greatest(
        (SELECT max(id) FROM accounts), (SELECT max(id) FROM statuses), (SELECT max(id) FROM notifications),
        (SELECT max(id) FROM outbox), (SELECT max(id) FROM favourites), (SELECT max(id) FROM bookmarks),
        (SELECT max(id) FROM status_edits), (SELECT max(id) FROM poll_votes),
        (SELECT max(id) FROM account_conversations), (SELECT max(id) FROM scheduled_statuses), 0
    )
"""


async def highest_id(db: Connection) -> int:
    return await db.fetchval(HIGHEST)
