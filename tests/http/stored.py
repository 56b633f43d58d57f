"""What the database holds, in sums."""

import trio
import trio.testing

from troupe.storage.engine.database import Connection

from ..clients import Stage

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
SUM = "SELECT coalesce(sum(hashtext(t::text)::bigint), 0) FROM {} t"


async def rows(stage: Stage) -> dict[str, int]:
    """A sum over every row of every table, when no promise is on its way."""
    await promises_forgotten(stage)
    return await stage.http_context.database.read(add_up)


async def promises_forgotten(stage: Stage) -> None:
    """Wait until nothing is left of what was promised for now: promises that were kept go a moment later."""
    with trio.fail_after(30):
        while await stage.rows("SELECT id FROM outbox WHERE due_at <= now()"):
            await trio.testing.wait_all_tasks_blocked(0.01)


async def add_up(db: Connection) -> dict[str, int]:
    names = [row["tablename"] for row in await db.fetch(TABLES)]
    return {name: await db.fetchval(SUM.format(name)) for name in names}


async def change_unnoticed(stage: Stage, query: str, *args: object) -> None:
    """Change rows outside of the server, and clear none of its caches."""
    await stage.http_context.database.transact(lambda db: db.execute(query, *args))
