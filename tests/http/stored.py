"""What the database holds, in sums."""

from troupe.storage.engine.database import Connection

from ..clients import Stage
from ..databases import TABLES

SUM = "SELECT coalesce(sum(hashtext(t::text)::bigint), 0) FROM {} t"


async def rows(stage: Stage) -> dict[str, int]:
    """A sum over every row of every table, when no promise is on its way."""
    await promises_forgotten(stage)
    return await stage.http_context.database.read(add_up)


async def promises_forgotten(stage: Stage) -> None:
    """Wait until nothing is left of what was promised for now: promises that were kept go a moment later."""
    await stage.until_gone("SELECT id FROM outbox WHERE due_at <= now()")


async def add_up(db: Connection) -> dict[str, int]:
    names = [row["tablename"] for row in await db.fetch(TABLES)]
    return {name: await db.fetchval(SUM.format(name)) for name in names}


async def change_unnoticed(stage: Stage, query: str, *args: object) -> None:
    """Change rows outside of the server, and clear none of its caches."""
    await stage.http_context.database.transact(lambda db: db.execute(query, *args))
