"""The highest id in use, so that new ids are higher also when the clock was set back."""

from ..engine.database import Connection

# The server draws the ids of all tables that have any. New tables are found by themselves.
TABLES = """
    SELECT quote_ident(t.relname) AS name FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid
    WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::text::regnamespace
    AND has_table_privilege(t.oid, 'SELECT') AND a.attname = 'id' AND a.atttypid IN ('int4'::regtype, 'int8'::regtype)
    ORDER BY t.relname
"""

# In a restored database, `copies.py` has stored the highest id that the first server may have given since the backup.
LOWEST = "(SELECT lowest_id FROM node)"


async def highest_id(db: Connection) -> int:
    tables = [row["name"] for row in await db.fetch(TABLES)]
    highest = ", ".join(f"(SELECT max(id) FROM {table})" for table in tables)
    return await db.fetchval(f"SELECT greatest({highest}, {LOWEST}, 0)")
